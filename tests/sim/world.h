/* One run: real pools, the real channel machines and the real AMQP connections, against a fake
 * broker and fake workers in virtual time. Everything that happens is chosen by the seed. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "core/workers/starts.h"
#include "sim/account.h"
#include "sim/order.h"
#include "sim/pool_runtime.h"
#include "sim/settings.h"
#include "sim/throttles.h"

#define SUPERVISORS_MAX  3
#define POOLS_AT_FIRST   2 /* of one supervisor */
#define POOLS_MAX        4 /* after reloads */
#define WORLD_QUEUE      "work"
#define WORLD_REPLIES    "replies"
#define WORLD_DEAD       "work.dead"
#define WORLD_BODY_LIMIT 64

struct client_link {
	struct world *world;
	struct supervisor *supervisor;
	struct pool_runtime *runtime;  /* whose messages it consumes; NULL: it publishes for all */
	struct connection *connection; /* owned; NULL: waits until retry_at */
	struct broker_connection *peer;
	bool up;
	bool is_dark; /* the broker has given it up, which it notices at retry_at; peer is unused */
	uint16_t close_code; /* of an AMQP_CLOSED; 0: there was none */
	mtime retry_at;
};

enum supervisor_state {
	SUPERVISOR_DEAD,
	SUPERVISOR_SERVES,
	SUPERVISOR_STOPS,  /* drains, or was forced to stop */
	SUPERVISOR_LEAVES, /* drained; its connections are closing */
};

struct supervisor {
	struct world *world;
	uint8_t number; /* from 1 */
	enum supervisor_state state;
	struct starts starts;
	uint64_t last_task_id;
	uint64_t latest_id;                      /* of the tasks that were sent */
	uint32_t share;                          /* of the processors, in thousandths */
	mtime idle;                              /* processor time that was not used */
	mtime extra;                             /* starts beyond the number of processors */
	uint32_t frozen;                         /* rounds for which it is suspended */
	bool has_events;                         /* something happened since its last turn */
	struct client_link links[1 + POOLS_MAX]; /* the publishing one, then each pool's */
	struct pool_runtime pools[POOLS_MAX];
	uint16_t pool_count; /* places in use */
	struct supervisor_throttles throttles;
};

/* Each supervisor that is not absent or dead. */
#define EACH_POOL(supervisor, runtime)                                                             \
	for (struct pool_runtime *runtime = (supervisor)->pools;                                   \
		runtime < (supervisor)->pools + (supervisor)->pool_count; runtime++)               \
		if (runtime->presence != POOL_ABSENT)

struct world {
	uint64_t seed;
	const struct settings *settings;
	struct random random;
	mtime now;
	bool calm; /* no more faults, everything moves at once */
	struct broker *broker;
	struct broker_watch watch;
	struct account account;
	struct order order;
	struct throttle_plan throttles;
	struct connection_params params;
	struct supervisor supervisors[SUPERVISORS_MAX];
	uint16_t supervisor_count;
	struct settle_policy policy;    /* of all pools */
	mtime start_cost;               /* processor time that a worker needs to start */
	mtime ack_timeout;              /* of the broker, where it is not calm */
	bool has_many_tasks;            /* in this run most workers have several tasks open */
	bool is_quorum;                 /* the queue that is consumed, when it is declared next */
	bool queue_vanishes;            /* in this run the queue that is consumed may be deleted */
	bool moved;                     /* something happened in this round */
	struct buf headers, properties; /* of the message that is made; used again by the next */
};

#define EACH_SUPERVISOR(world, supervisor)                                                         \
	for (struct supervisor *supervisor = (world)->supervisors;                                 \
		supervisor < (world)->supervisors + (world)->supervisor_count; supervisor++)

/* The effects of all pools; their io is the struct pool_runtime. */
extern const struct effects sim_effects;

/* True: the trouble may happen in this run. */
/* The wall clock, which is not stepped in a run. */
#define WORLD_WALL_MS INT64_C(1700000000000)
static inline int64_t world_wall_ms(mtime now)
{
	return WORLD_WALL_MS + now / MTIME_MS;
}
bool world_may(const struct world *, enum trouble);
/* The same, with this chance in a thousand; never in a calm world. */
static inline bool world_wants(struct world *world, enum trouble trouble, uint32_t per_mille)
{
	return !world->calm && random_chance(&world->random, per_mille) &&
	       world_may(world, trouble);
}
void world_set_time(struct world *, mtime now);
/* The queue that is consumed is there, whatever happened to it. */
void world_declare_work(struct world *);
/* The earliest of all deadlines; MTIME_NEVER: there is none. */
mtime world_deadline(struct world *);

/* Run one seed to its end; sim_fail ends the process if an invariant is broken. */
void world_run(uint64_t seed, const struct settings *);

#endif
