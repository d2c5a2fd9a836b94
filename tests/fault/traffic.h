/* Several pools of one supervisor, on quorum and classic queues of the fixture's broker, each with
 * its own account and a load of all kinds of messages. */
#ifndef FAULT_TRAFFIC_H
#define FAULT_TRAFFIC_H

#include "fault/account.h"
#include "fault/fault.h"

#define TRAFFIC_POOLS 4

struct traffic;

/* Declare the queues. */
struct traffic *traffic_new(void);
/* NULL is allowed. */
void traffic_free(struct traffic *);

/* Start a supervisor with all pools and echo workers. */
struct proc *traffic_serve(const struct traffic *);
void traffic_await_consumers(const struct traffic *);
int traffic_workers(const struct traffic *);

/* What a fault may cost: how many tasks are repeated. */
enum traffic_cost {
	TRAFFIC_NOTHING,
	TRAFFIC_ONE_TASK,
	TRAFFIC_UNACKED, /* by any pool: its prefetch */
	/* Also what a classic queue has not written: its acks since its latest confirm, at most all
	   messages that it held then. */
	TRAFFIC_UNWRITTEN,
};
/* Allow the repeats of one such fault. */
void traffic_allow(struct traffic *, enum traffic_cost);
/* The repeats so far and those that all faults allowed, of the pools on queues of this kind.
 * TRAFFIC_ONE_TASK may be of either kind and counts for both. */
struct traffic_repeats {
	long seen, allowed;
};
struct traffic_repeats traffic_repeats(const struct traffic *, enum client_queue);

/* Keep all queues filled for time_ms; fill them at least once. */
void traffic_flow(struct traffic *, int time_ms);
/* The number of messages since the accounts were closed. */
long traffic_posted(const struct traffic *);
/* Wait until all queues and retry queues are empty. */
void traffic_settle(struct traffic *);
/* Call account_close for all accounts. The test fails if a pool repeated more than was allowed. */
void traffic_close(struct traffic *, struct tally *);

/* Delete the pool's queue while it is consumed and empty, so that no message is lost. */
void traffic_lose_queue(struct traffic *, int pool);
void traffic_restore_queue(struct traffic *, int pool);

#endif
