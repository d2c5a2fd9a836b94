/* The retry queue in which a copy waits. Layer: broker, pure.
 * The one of its own delay; if that is missing and may not be made, the nearest that exists, a
 * longer delay before a shorter one. A missing queue is detected by publishing, which costs
 * nothing, and tried again after a minute, because an operator may have declared it. */
#ifndef BROKER_RETRY_QUEUES_H
#define BROKER_RETRY_QUEUES_H

#include "broker/topology.h"

struct retry_queues {
	const struct retry_plan *plan; /* borrowed */
	bool has_no_right;             /* to declare queues, on this connection */
	uint32_t missing;              /* bits: of the plan, then of the ladder */
	mtime check_after;             /* good when missing is not 0 */
};

void retry_queues_init(struct retry_queues *, const struct retry_plan *);
/* A new connection: nothing is known. */
void retry_queues_forget(struct retry_queues *);
/* A queue of ours has this delay, of the plan or of the ladder. */
bool retry_queues_has(const struct retry_queues *, mtime delay) MUST_CHECK;
bool retry_queues_may_make(const struct retry_queues *) MUST_CHECK;
/* The broker refused its declaration. */
void retry_queues_refuse(struct retry_queues *, mtime delay, mtime now);
/* It does not exist. */
void retry_queues_miss(struct retry_queues *, mtime delay, mtime now);
/* The delay of the queue in which a copy waits that should wait for delay (0: not at all). 0 too if
 * no retry queue exists and none is configured; delay itself if all configured ones are missing. */
mtime retry_queues_choose(const struct retry_queues *, mtime delay) MUST_CHECK;
void retry_queues_tick(struct retry_queues *, mtime now);

#endif
