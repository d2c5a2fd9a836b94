/* Choose the retry queue or wait queue in which a copy waits. Layer: broker, pure. It is the queue
 * of the copy's own delay. If that is missing and may not be declared, it is the nearest that
 * exists, a longer delay before a shorter one. A missing queue is found by publishing, which costs
 * nothing. After a minute it is used again, because an operator may have declared it. */
#ifndef BROKER_RETRY_QUEUES_H
#define BROKER_RETRY_QUEUES_H

#include "broker/topology.h"

/* The retry queues, or the wait queues, that do not exist. All zero: none is known. */
struct missing_queues {
	uint32_t bits;     /* retry_queues_bits, wait_queues_bit */
	mtime check_after; /* if there are bits: when the queues are used again */
	bool has_no_right; /* the broker refused a declaration on this connection */
	bool is_logged;    /* that it did, on any connection */
};

/* The queues of these bits do not exist. */
void missing_queues_add(struct missing_queues *, uint32_t bits, mtime now);
/* A new connection: forget everything but what is logged. */
void missing_queues_forget(struct missing_queues *);
void missing_queues_tick(struct missing_queues *, mtime now);

/* The bits of a delay: one of the plan, of the ladder, or of both. 0: it has no retry queue. */
uint32_t retry_queues_bits(const struct retry_plan *, mtime delay) MUST_CHECK;
/* Return the delay of the queue to use for a copy with this delay (0: none, retried at once). If
 * all are missing, it is 0 if none is configured and the copy may be retried at once (not
 * must_wait), else the delay itself: the copy is returned, and published again later. */
mtime retry_queues_choose(const struct retry_plan *, const struct missing_queues *, mtime delay,
	bool must_wait) MUST_CHECK;

/* The bit of a step of wait_steps; 0: it is none. */
uint32_t wait_queues_bit(mtime step) MUST_CHECK;
/* Return the step of the queue to use: in place of a missing one the next shorter one that exists,
 * whose copy is not late, and waits again. If it and all shorter ones are missing, it is the step
 * itself: the copy is returned, and published again later. */
mtime wait_queues_choose(const struct missing_queues *, mtime step) MUST_CHECK;

#endif
