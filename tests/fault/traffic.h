/* Several pools of one supervisor, on quorum and classic queues of the fixture's broker, each with
 * its own account and a load of all kinds of messages. */
#ifndef FAULT_TRAFFIC_H
#define FAULT_TRAFFIC_H

#include "fault/account.h"
#include "fault/fault.h"

#define TRAFFIC_POOLS 4

struct traffic;

/* Declares the queues. */
struct traffic *traffic_new(void);
/* NULL is allowed. */
void traffic_free(struct traffic *);

/* A supervisor of all pools, with echo workers. */
struct proc *traffic_serve(const struct traffic *);
void traffic_await_consumers(const struct traffic *);
int traffic_workers(const struct traffic *);

/* What a fault may cost: how much is worked twice. */
enum traffic_cost {
	TRAFFIC_NOTHING,
	TRAFFIC_ONE_TASK,
	TRAFFIC_UNACKED, /* by any pool: its prefetch */
	/* And what a classic queue has not written: its acks since its latest confirm, at worst all
	   that it held then. */
	TRAFFIC_UNWRITTEN,
};
/* Such a fault comes. */
void traffic_allow(struct traffic *, enum traffic_cost);
/* Repeats so far and what all faults allowed, of the pools on such queues. A single task may have
 * been of either kind: those are in both. */
struct traffic_repeats {
	long seen, allowed;
};
struct traffic_repeats traffic_repeats(const struct traffic *, enum client_queue);

/* Keeps all queues filled for so long, and once at least. */
void traffic_flow(struct traffic *, int time_ms);
/* Messages since the accounts were closed. */
long traffic_posted(const struct traffic *);
/* Waits until nothing is in a queue or waits for its retry. */
void traffic_settle(struct traffic *);
/* All accounts, as account_close. Fails the test for a pool that repeated more than was allowed. */
void traffic_close(struct traffic *, struct tally *);

/* The pool's queue is deleted while it is consumed and empty: a queue takes its messages along. */
void traffic_lose_queue(struct traffic *, int pool);
void traffic_restore_queue(struct traffic *, int pool);

#endif
