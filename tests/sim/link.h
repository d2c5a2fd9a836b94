/* A client connection of the run: the counterpart of net/broker_link.c, with a fake socket. */
#ifndef SIM_LINK_H
#define SIM_LINK_H

#include "sim/world.h"

/* runtime: the pool for which it consumes; NULL: it publishes for all. */
void link_init(struct client_link *, struct supervisor *, struct pool_runtime *runtime);
/* The connection by which a pool consumes. */
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

/* Connect; or stop waiting for the broker's answer to a close. */
void link_on_deadline(struct client_link *);
static inline void link_tick(struct client_link *link)
{
	if (link->retry_at <= link->world->now)
		link_on_deadline(link);
}
/* Move some bytes each way, cut anywhere; all of them if the world is calm. */
void link_move(struct client_link *);
/* True: no bytes are on the way. */
bool link_is_still(const struct client_link *);
/* Cut the connection: the bytes on the way are lost. */
void link_cut(struct client_link *, bool by_error);
/* The broker gives the connection up, as if it had heard nothing for too long; our side notices
 * that later, by its own heartbeat. */
void link_darken(struct client_link *);
/* Close it in order, as a supervisor that ends does; it does not connect again. */
void link_close(struct client_link *);
void link_release(struct client_link *);

#endif
