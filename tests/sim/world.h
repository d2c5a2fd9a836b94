/* One run: real pools, the real channel machines and the real AMQP connections, against a fake
 * broker and fake workers in virtual time. Everything that happens is chosen by the seed. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "sim/account.h"
#include "sim/settings.h"
#include "sim/station.h"

#define SUPERVISORS_MAX   3
#define STATIONS_AT_FIRST 2 /* of one supervisor */
#define STATIONS_MAX      4 /* and what reloads make of them */
#define WORLD_QUEUE       "work"
#define WORLD_REPLIES     "replies"
#define WORLD_DEAD        "work.dead"
#define WORLD_BODY_LIMIT  64

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
	uint16_t station_count; /* places in use */
};

/* Those that are there in whatever way. */
#define EACH_STATION(supervisor, station)                                                          \
	for (struct station *station = (supervisor)->stations;                                     \
		station < (supervisor)->stations + (supervisor)->station_count; station++)         \
		if (station->presence != STATION_ABSENT)

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
	struct settle_policy policy;    /* of all pools */
	mtime ack_timeout;              /* of the broker, where it is not calm */
	bool queue_vanishes;            /* in this run the queue that is consumed may be deleted */
	bool moved;                     /* something happened in this round */
	struct buf headers, properties; /* of the message that is made; used again by the next */
};

#define EACH_SUPERVISOR(world, supervisor)                                                         \
	for (struct supervisor *supervisor = (world)->supervisors;                                 \
		supervisor < (world)->supervisors + (world)->supervisor_count; supervisor++)

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

/* Runs one seed to its end; sim_fail ends the process if an invariant breaks. */
void world_run(uint64_t seed, const struct settings *);

#endif
