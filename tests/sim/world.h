/* One run: real pools, the real channel machines and the real AMQP connections, against a fake
 * broker and fake workers in virtual time. Everything that happens is chosen by the seed. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "broker/consumer.h"
#include "broker/publisher.h"
#include "sim/account.h"
#include "sim/settings.h"
#include "sim/steer.h"
#include "sim/workers.h"

#define SUPERVISORS_MAX  3
#define STATIONS_MAX     2 /* of one supervisor */
#define WORLD_QUEUE      "work"
#define WORLD_REPLIES    "replies"
#define WORLD_DEAD       "work.dead"
#define WORLD_BODY_LIMIT 64

/* A pool with all that it acts through; those of a supervisor share the connection that publishes,
 * and all of them the queue, so that the account need not ask who did what. */
struct station {
	struct world *world;
	struct supervisor *supervisor;
	uint16_t channel;
	struct notes notes;
	char warning[256]; /* the last one of its channels */
	struct pool_config config;
	struct consumer_config consumer_config;
	struct publisher_config publisher_config;
	struct pool *pool;
	struct consumer *consumer;
	struct publisher *publisher;
	mtime turned_at; /* the turn before this one */
	bool stirred;    /* something happened since the last turn */
	uint32_t stirs;  /* turns in which something had */
	struct steering steering;
	struct workers workers;
};

struct client_link {
	struct world *world;
	struct supervisor *supervisor;
	struct station *station;       /* that it consumes for; NULL: it publishes for all */
	struct connection *connection; /* owned; NULL: waits until retry_at */
	struct broker_connection *peer;
	bool up;
	uint16_t close_code; /* of an AMQP_CLOSED; 0: there was none */
	mtime retry_at;
};

enum supervisor_state {
	SUPERVISOR_DEAD,
	SUPERVISOR_SERVES,
	SUPERVISOR_STOPS,  /* drains, or was told to leave at once */
	SUPERVISOR_LEAVES, /* all is quiet, its connections close */
};

struct supervisor {
	struct world *world;
	uint8_t number; /* from 1 */
	enum supervisor_state state;
	uint32_t frozen;                            /* rounds in which it stands still */
	bool stirred;                               /* something happened since its last turn */
	struct client_link links[1 + STATIONS_MAX]; /* the publishing one, then each station's */
	struct station stations[STATIONS_MAX];
	uint16_t station_count;
};

struct world {
	uint64_t seed;
	const struct settings *settings;
	struct random random;
	mtime now;
	bool calm; /* no more faults, everything moves at once */
	struct broker *broker;
	struct broker_watch watch;
	struct account account;
	struct connection_params params;
	struct supervisor supervisors[SUPERVISORS_MAX];
	uint16_t supervisor_count;
	uint32_t attempts;              /* of the pools' policy */
	mtime ack_timeout;              /* of the broker, where it is not calm */
	bool queue_vanishes;            /* in this run the queue that is consumed may be deleted */
	bool moved;                     /* something happened in this round */
	struct buf headers, properties; /* of the message that is made; used again by the next */
};

/* What pools act through; their io is the station. */
extern const struct effects sim_effects;

/* The trouble is not left out: it happens now. */
bool world_may(const struct world *, enum trouble);
/* And chance wants it: so many in a thousand. Never in a calm world. */
static inline bool world_wants(struct world *world, enum trouble trouble, uint32_t per_mille)
{
	return !world->calm && random_chance(&world->random, per_mille) &&
	       world_may(world, trouble);
}
void world_set_time(struct world *, mtime now);
/* The earliest of all deadlines, MTIME_NEVER: there is none. */
mtime world_deadline(struct world *);

/* station.c. Its world, supervisor and channel are set; chooses all else. */
void station_choose(struct station *, const struct settle_policy *);
/* Its size, chosen anew: an operator starts it with another one. */
void station_resize(struct station *);
void station_start(struct station *);
void station_turn(struct station *);
/* It holds no task, and nothing of it is unconfirmed. */
bool station_is_idle(const struct station *);
mtime station_deadline(const struct station *);
/* As a kill -9 would: nothing more is said. */
void station_end(struct station *);

/* Runs one seed to its end; sim_fail ends the process if an invariant breaks. */
void world_run(uint64_t seed, const struct settings *);

#endif
