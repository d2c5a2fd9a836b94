/* A client connection of the run: what io/uplink does, with a fake wire. */
#ifndef SIM_LINK_H
#define SIM_LINK_H

#include "sim/world.h"

/* pool: whose messages it is to consume; NULL: it publishes for all. */
void link_init(struct client_link *, struct supervisor *, struct pool_runtime *runtime);
/* The connection that a pool consumes by. */
static inline struct client_link *pool_link(const struct pool_runtime *runtime)
{
	return &runtime->supervisor->links[1 + (runtime - runtime->supervisor->pools)];
}
static inline bool link_publishes(const struct client_link *link)
{
	return link->runtime == NULL;
}

#define EACH_LINK(supervisor, link)                                                                \
	for (struct client_link *link = (supervisor)->links;                                       \
		link <= (supervisor)->links + (supervisor)->pool_count; link++)

/* Connects; or gives up waiting for the broker's goodbye. */
void link_on_deadline(struct client_link *);
static inline void link_tick(struct client_link *link)
{
	if (link->retry_at <= link->world->now)
		link_on_deadline(link);
}
/* Moves some bytes each way, cut anywhere; all of them if the world is calm. */
void link_move(struct client_link *);
/* Nothing is on the wire. */
bool link_is_still(const struct client_link *);
/* The wire is cut: what was on it is lost. */
void link_cut(struct client_link *, bool by_error);
/* In good order, as a supervisor leaves; nothing connects again. */
void link_close(struct client_link *);
void link_release(struct client_link *);

#endif
