/* A station of a run: what cli/station is to serve, with fake workers. */
#ifndef SIM_STATION_H
#define SIM_STATION_H

#include "broker/consumer.h"
#include "broker/publisher.h"
#include "sim/steer.h"
#include "sim/workers.h"

struct supervisor;
struct world;

enum presence {
	STATION_ABSENT, /* its place is free */
	STATION_THERE,  /* as configured */
	STATION_LEAVES, /* drains, because it is not configured any more */
	STATION_CLOSES, /* all is quiet, its channel and its connection close */
};

/* A pool with all that it acts through; those of a supervisor share the connection that publishes,
 * and all of them the queue, so that the account need not ask who did what. */
struct station {
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
	mtime turned_at; /* the turn before this one */
	bool stirred;    /* something happened since the last turn */
	uint32_t stirs;  /* turns in which something had */
	struct steering steering;
	bool is_broken;     /* the command that it was given last: no worker of it comes up */
	bool was_narrow;    /* its memory was little, once */
	uint32_t hand_most; /* tasks in hand, by the most prefetch there was */
	struct workers workers;
};

/* Its world, supervisor and channel are set; chooses all else. */
void station_choose(struct station *, const struct settle_policy *);
/* Its size, chosen anew: an operator starts it with another one. */
void station_resize(struct station *);
/* What a reload may change while it works, chosen anew; its size, too. */
void station_reshape(struct station *);
void station_start(struct station *);
void station_turn(struct station *);
/* It holds no task, and nothing of it is unconfirmed. */
bool station_is_idle(const struct station *);
mtime station_deadline(const struct station *);
/* As a kill -9 would: nothing more is said. */
void station_end(struct station *);

#endif
