/* Choose the retry queue or wait queue in which a copy waits. Layer: broker, pure. It is the queue
 * of the copy's own delay. If that is missing and may not be declared, it is the nearest that
 * exists, a longer delay before a shorter one. A missing queue is found by publishing, which costs
 * nothing. After a minute it is used again, because an operator may have declared it. */
#ifndef BROKER_RETRY_QUEUES_H
#define BROKER_RETRY_QUEUES_H

#include "broker/topology.h"

struct retry_queues {
	const struct retry_plan *plan; /* borrowed */
	bool has_no_right;             /* the broker refused a declaration on this connection */
	uint32_t missing;              /* bits: the delays of the plan, then those of the ladder */
	mtime check_after;             /* if missing is not 0: when missing queues are used again */
};

void retry_queues_init(struct retry_queues *, const struct retry_plan *);
/* A new connection: forget everything. */
void retry_queues_forget(struct retry_queues *);
/* True: a delay of the plan or of the ladder, so it has a retry queue. */
bool retry_queues_has(const struct retry_queues *, mtime delay) MUST_CHECK;
bool retry_queues_may_make(const struct retry_queues *) MUST_CHECK;
/* The broker refused to declare the queue of this delay. */
void retry_queues_refuse(struct retry_queues *, mtime delay, mtime now);
/* The queue of this delay does not exist. */
void retry_queues_miss(struct retry_queues *, mtime delay, mtime now);
/* Return the delay of the queue to use for a copy with this delay (0: none, retried at once). If
 * all are missing, it is 0 if none is configured and the copy may be retried at once (not
 * must_wait), else the delay itself: the copy is returned, and published again later. */
mtime retry_queues_choose(const struct retry_queues *, mtime delay, bool must_wait) MUST_CHECK;
void retry_queues_tick(struct retry_queues *, mtime now);

/* The same for wait queues. In place of a missing one the next shorter one that exists is used: its
 * copy is not late, and waits again. All zero on a new connection. */
struct wait_queues {
	bool has_no_right;
	uint32_t missing; /* bits: the steps of wait_steps */
	mtime check_after;
};

/* True: it is a step of wait_steps. */
bool wait_queues_has(mtime step) MUST_CHECK;
/* Its bit in masks of such steps. */
uint32_t wait_queues_bit(mtime step);
void wait_queues_refuse(struct wait_queues *, mtime step, mtime now);
void wait_queues_miss(struct wait_queues *, mtime step, mtime now);
/* Return the step of the queue to use. If it and all shorter ones are missing, it is the step
 * itself: the copy is returned, and published again later. */
mtime wait_queues_choose(const struct wait_queues *, mtime step) MUST_CHECK;
void wait_queues_tick(struct wait_queues *, mtime now);

#endif
