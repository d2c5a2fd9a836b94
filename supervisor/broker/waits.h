/* In which of a pool's retry queues a copy waits. Layer: broker, pure.
 * The one of its own delay; where that is missing and may not be made, the nearest that there is: a
 * longer one before a shorter one. What is missing is found out by publishing, which costs nothing,
 * and looked at again after a minute, because somebody may have declared it. */
#ifndef BROKER_WAITS_H
#define BROKER_WAITS_H

#include "broker/topology.h"

struct waits {
	const struct retry_plan *plan; /* borrowed */
	bool has_no_right;             /* to make any, on this connection */
	uint32_t missing;              /* bits: of the plan, then of the ladder */
	mtime look_again;              /* good when missing is not 0 */
};

void waits_init(struct waits *, const struct retry_plan *);
/* A fresh connection: nothing is known. */
void waits_forget(struct waits *);
/* It is the delay of a queue of ours: of the plan or of the ladder. */
bool waits_has(const struct waits *, mtime delay) MUST_CHECK;
bool waits_may_make(const struct waits *) MUST_CHECK;
/* The broker refused to have it made. */
void waits_refuse(struct waits *, mtime delay, mtime now);
/* It is not there. */
void waits_miss(struct waits *, mtime delay, mtime now);
/* The delay whose queue a copy goes to that is to wait for this one (0: at once). 0 as well where
 * the pool has no queue at all and none is configured; the same where all are missing. */
mtime waits_choose(const struct waits *, mtime delay) MUST_CHECK;
void waits_tick(struct waits *, mtime now);

#endif
