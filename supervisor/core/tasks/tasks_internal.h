/* What the files of the tasks' half share. Layer: core. */
#ifndef CORE_TASKS_TASKS_INTERNAL_H
#define CORE_TASKS_TASKS_INTERNAL_H

#include "core/tasks/tasks.h"

/* How an attempt ended. */
struct ending {
	enum outcome outcome;
	enum reason reason;    /* OUTCOME_UNROUTABLE */
	struct exit_info exit; /* where a process ended */
	const char *what;      /* OUTCOME_BROKEN: static text; else NULL */
};

/* tasks.c */
/* Give back what the channel of a pool with sessions holds: close it; it is opened again when the
 * pool may consume. */
void tasks_take_acked(struct tasks *);
void tasks_leave(struct tasks *, enum renewal why);

/* attempts.c */
/* The attempt is over; the delivery moves in. An orphan is dropped. */
void tasks_finish(struct tasks *, struct delivery *, struct ending);
/* The task is settled and confirmed: its delivery, which moves in, may be acked. */
void tasks_release_delivery(struct tasks *, struct delivery *);
/* Give the task up, however many attempts are left; the delivery moves in. */
void tasks_give_up(struct tasks *, struct delivery *, enum reason);
/* Drop the task by command; the delivery moves in. */
void tasks_discard(struct tasks *, struct delivery *);

#endif
