/* Columns of the cover (cover.h) that say something of a task. */
#ifndef SIM_COVER_TASKS_H
#define SIM_COVER_TASKS_H

enum cover_suspect {
	SUSPECT_SENT,
	SUSPECT_ANSWERED,
	SUSPECT_FAILED, /* its worker ended */
	SUSPECT_COUNT
};

enum cover_asked {
	ASKED_FIRST, /* without a session, for the first time */
	ASKED_AGAIN, /* the first one of its group */
	ASKED_SESSION,
	ASKED_ALONE, /* a suspect, or one that must be the only one */
	ASKED_COUNT
};

#endif
