/* What an evil worker's behaviours share. */
#ifndef WORKERS_EVIL_H
#define WORKERS_EVIL_H

#include "workers/raw.h"

struct evil {
	struct raw raw;
	struct raw_frame task; /* the current one */
};

/* NULL: the worker behaves well in this step. */
struct evil_behaviour {
	const char *name;
	void (*on_task)(struct evil *);
	void (*before_connect)(struct evil *);
	void (*after_connect)(struct evil *);
};

/* Each list ends with one without a name. */
extern const struct evil_behaviour evil_frames[];
extern const struct evil_behaviour evil_answers[];
extern const struct evil_behaviour evil_process[];

/* Answer 200. */
void evil_done(struct evil *);
/* The same, with a line in the witness file. */
void evil_answer_tasks(struct evil *);
void evil_wait(void) __attribute__((noreturn));

/* Send bytes with their correct length before them. */
#define SEND(evil, literal) raw_write_frame(&(evil)->raw, literal, sizeof literal - 1)

#endif
