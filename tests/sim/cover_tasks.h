/* Columns of the cover (cover.h) that say something of a task. */
#ifndef SIM_COVER_TASKS_H
#define SIM_COVER_TASKS_H

enum cover_suspect {
	SUSPECT_SENT,
	SUSPECT_ANSWERED,
	SUSPECT_FAILED, /* its worker ended */
	SUSPECT_COUNT
};

/* A hard limit that a worker sets. */
enum cover_limit {
	LIMIT_LONGER,
	LIMIT_SHORTER,
	LIMIT_PAST, /* and so it ends the task */
	LIMIT_BAD,
	LIMIT_DUE,  /* of a task that is over the one before */
	LIMIT_LATE, /* by a worker that is ending */
	LIMIT_COUNT
};

enum cover_asked {
	ASKED_FIRST, /* without a session, for the first time */
	ASKED_AGAIN, /* the first one of its group */
	ASKED_SESSION,
	ASKED_ALONE, /* a suspect, or one that must be the only one */
	ASKED_COUNT
};

enum cover_ended {
	ENDED_GONE,    /* by itself */
	ENDED_KILLED,  /* over its memory limit, or at a forced stop */
	ENDED_SILENT,  /* a task is over the hard limit, and nothing is heard of the others */
	ENDED_HUNG,    /* the same, and something is heard of another one */
	ENDED_BROKEN,  /* a protocol error that names no open task */
	ENDED_NAMED,   /* one that does */
	ENDED_ORDERED, /* in any of these ways, with a task that an operator kills */
	ENDED_LAST,    /* after its last answer */
	ENDED_COUNT
};

#endif
