/* What `wpool check-worker` checks: one table. Layer: check_worker; without I/O. A check is a
 * sequence of steps with one worker of its own; a new one needs a row here, and a line in
 * docs/workers.md. */
#ifndef CHECK_WORKER_CHECKS_H
#define CHECK_WORKER_CHECKS_H

#include "check_worker/fault.h"
#include "check_worker/tasks.h"

enum step_op {
	STEP_END,
	STEP_START,        /* the process, its address, its connection */
	STEP_START_LATE,   /* the address half a second after the process */
	STEP_START_JOINED, /* the address and another control line in one write */
	STEP_TASK,         /* append the frame of .task; sent by the next step that sends */
	STEP_FILES,        /* each body of --task: sent, and answered with 200 or 201 */
	STEP_SEND,
	STEP_SEND_SLOWLY,   /* one byte at a time */
	STEP_SEND_PART,     /* all but the last PART_KEPT bytes, and wait until they are read */
	STEP_GIVE_TIME,     /* for a moment, to read what was sent */
	STEP_READ,          /* wait until the worker has read what was sent, or answered */
	STEP_ANSWER,        /* wait for one more answer */
	STEP_LINE,          /* write .line as a control line */
	STEP_SHUT,          /* end of file on the data pipe */
	STEP_CLOSE_PIPE,    /* in both directions: the worker's writes fail */
	STEP_CLOSE_CONTROL, /* end of file on its standard input */
	STEP_TERM,
	STEP_EXIT,      /* wait for the exit, whatever its status */
	STEP_EXIT_ZERO, /* the same with status 0 */
	STEP_NO_MORE,   /* no answer but those waited for has come */
	STEP_IN_ORDER,  /* the last two answers have the order of the first two */
	STEP_NO_STRAYS, /* no process is left */
};

#define PART_KEPT  3
#define STEPS_MAX  24
#define CAUSES_MAX 4

struct step {
	enum step_op op;
	union {
		enum task_kind task;
		const char *line;
	};
};

/* What a check needs to have seen, in any check of the run; else it is "not shown". */
enum shows { SHOWS_NOTHING, SHOWS_PROGRESS, SHOWS_FAILED, SHOWS_REJECTED, SHOWS_STDOUT };

struct check {
	const char *name;
	const char *sent, *expected;
	struct step steps[STEPS_MAX];
	struct {
		uint32_t faults; /* bits of FAULT_BIT */
		const char *cause;
	} causes[CAUSES_MAX]; /* likely in this check; others: fault_cause */
	enum shows shows;
	bool is_base;         /* if it fails, no other check is run */
	bool needs_files;     /* only with --task */
	bool not_corefx;      /* existing workers of pipe: corefx need not do this */
	const char *only_for; /* demanded only in such pools; NULL: everywhere */
};

extern const struct check checks[];
extern const size_t check_count;

/* NULL: there is none of that name. */
const struct check *check_find(const char *name);

#endif
