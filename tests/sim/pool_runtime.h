/* A pool of a run, with its channels and fake workers: the counterpart of runtime/pool_runtime.c.
 */
#ifndef SIM_POOL_RUNTIME_H
#define SIM_POOL_RUNTIME_H

#include "broker/consumer.h"
#include "broker/publisher.h"
#include "runtime/pool_token.h"
#include "sim/order.h"
#include "sim/steer.h"
#include "sim/throttles.h"
#include "sim/workers.h"

struct supervisor;
struct world;

enum presence {
	POOL_ABSENT, /* its place is free */
	POOL_THERE,  /* as configured */
	POOL_LEAVES, /* drains, because it is no longer configured */
	POOL_CLOSES, /* drained; its channel and its connection are closing */
};

/* The pools of a supervisor share the connection that publishes. All pools consume the same queue,
 * so that the account need not know which of them handled a message. */
struct pool_runtime {
	struct world *world;
	struct supervisor *supervisor;
	uint16_t channel;
	enum presence presence;
	struct channel_log log;
	char warning[256]; /* the last one of its channels */
	struct pool_config config;
	struct consumer_config consumer_config;
	struct publisher_config publisher_config;
	struct pool *pool;
	struct consumer *consumer;
	struct publisher *publisher;
	mtime turned_at;         /* when its last turn was */
	bool has_events;         /* since the last turn */
	uint32_t busy_turns;     /* turns that had events */
	struct pool_token token; /* sim/tokens.h */
	struct guard *guard;     /* owned; NULL: the pool has no token */
	struct steering steering;
	struct pool_throttles throttles;
	bool is_broken;    /* no worker becomes ready with its present command */
	bool was_narrow;   /* `memory` limited its window at some time */
	uint32_t hand_max; /* maximum of tasks in hand, by the largest prefetch so far */
	struct workers workers;
	struct hand hand;
};

/* Choose everything else; world, supervisor and channel are set. */
void pool_runtime_choose(struct pool_runtime *, const struct settle_policy *);
/* Choose its size again: an operator starts it with another one. */
void pool_runtime_resize(struct pool_runtime *);
/* Choose again what a reload may change while it works, its size included. */
void pool_runtime_reshape(struct pool_runtime *);
void pool_runtime_start(struct pool_runtime *);
void pool_runtime_turn(struct pool_runtime *);
/* True: it has no task and no unconfirmed publish. */
bool pool_runtime_is_idle(const struct pool_runtime *);
mtime pool_runtime_deadline(const struct pool_runtime *);
/* End it as SIGKILL would: it sends nothing more. */
void pool_runtime_end(struct pool_runtime *);

#endif
