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

/* What waits is given back when the pool is paused, has no worker, or is closed by a throttle, for
 * so long. */
#define TASKS_RESTING_LIMIT (60 * MTIME_SECOND)
/* Before that the source stops consuming when accepted tasks keep all workers: what waits behind
 * them is unacked, and the broker takes it back after its ack timeout. */
#define ALL_ACCEPTED_LIMIT (60 * MTIME_SECOND)
/* A microsecond later, since each turn reads the clock. */
#define TASKS_NEXT_TURN 1

/* tasks.c */
/* True: messages are requested. */
static inline bool tasks_is_consuming(const struct tasks *tasks)
{
	return tasks->source.request == SOURCE_CONSUME;
}
/* Request messages, with the present window; begin: what is unacked does not count in it. */
void tasks_consume(struct tasks *);
void tasks_begin_consuming(struct tasks *);

/* session_channel.c: of a pool with sessions only */
/* Open, leave or renew the channel, and give up what does not come back. */
void session_channel_decide(struct tasks *, enum worker_supply);
mtime session_channel_deadline(const struct tasks *);
/* Acks were sent: sessions may end. */
void session_channel_flushed(struct tasks *);
void tasks_take_acked(struct tasks *);
/* Give back what the channel holds: close it; it is opened again when the pool may consume. */
void tasks_leave(struct tasks *, enum renewal why);

/* attempts.c */
/* The attempt is over; the delivery moves in. An orphan is dropped. */
void tasks_finish(struct tasks *, struct delivery *, struct ending);
/* The task is settled and confirmed: its delivery, which moves in, may be acked. */
void tasks_release_delivery(struct tasks *, struct delivery *);
/* Give the task up, however many attempts are left; the delivery moves in. */
void tasks_give_up(struct tasks *, struct delivery *, enum reason);
/* Settle a task that a throttle refuses; the delivery moves in. */
void tasks_settle_refused(struct tasks *, struct delivery *, const struct decision *);
/* Drop the task by command; the delivery moves in. */
void tasks_discard(struct tasks *, struct delivery *);

#endif
