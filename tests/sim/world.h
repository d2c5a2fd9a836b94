/* One run: real pools, the real channel machines and the real AMQP connections, against a fake
 * broker and fake workers in virtual time. Everything that happens is chosen by the seed. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "broker/consumer.h"
#include "broker/publisher.h"
#include "sim/account.h"
#include "sim/workers.h"

#define STATIONS_MAX     2
#define WORLD_QUEUE      "work"
#define WORLD_REPLIES    "replies"
#define WORLD_DEAD       "work.dead"
#define WORLD_BODY_LIMIT 64

/* A pool with all that it acts through; those of a run share the connections and the queue. */
struct station {
	struct world *world;
	uint16_t channel;
	struct notes notes;
	char warning[256]; /* the last one of its channels */
	struct pool_config config;
	struct consumer_config consumer_config;
	struct publisher_config publisher_config;
	struct pool *pool;
	struct consumer *consumer;
	struct publisher *publisher;
	struct workers workers;
};

struct client_link {
	struct world *world;
	bool publishes;
	struct connection *connection; /* owned; NULL: waits until retry_at */
	struct broker_connection *peer;
	bool up;
	uint16_t close_code; /* of an AMQP_CLOSED; 0: there was none */
	mtime retry_at;
};

struct world {
	uint64_t seed;
	struct random random;
	mtime now;
	bool calm; /* no more faults, everything moves at once */
	struct broker *broker;
	struct broker_watch watch;
	struct account account;
	struct connection_params params;
	struct client_link links[2]; /* consume, publish */
	struct station stations[STATIONS_MAX];
	uint16_t station_count;
	bool queue_vanishes; /* in this run the queue that is consumed may be deleted */
	bool moved;          /* something happened in this round */
};

/* What pools act through; their io is the station. */
extern const struct effects sim_effects;

/* station.c. Its world and channel are set; chooses all else. */
void station_choose(struct station *, const struct settle_policy *);
void station_start(struct station *);
void station_turn(struct station *);
mtime station_deadline(const struct station *);
/* As a kill -9 would: nothing more is said. */
void station_end(struct station *);

/* Runs one seed to its end; sim_fail ends the process if an invariant breaks. */
void world_run(uint64_t seed);

#endif
