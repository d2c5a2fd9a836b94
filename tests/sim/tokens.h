/* The tokens of a run with sessions: each pool has the real runtime/pool_token.c, with the
 * simulator's clock and a fake guard, which kills the workers of a lease that is over. So up to
 * three supervisors take turns at one queue. */
#ifndef SIM_TOKENS_H
#define SIM_TOKENS_H

#include "sim/world.h"

#define WORLD_TOKEN WORLD_QUEUE ".token"

struct amqp_event;

/* A pool starts, or ends as SIGKILL ends it. A pool without a token is left alone by all of these.
 */
void tokens_begin(struct pool_runtime *);
void tokens_end(struct pool_runtime *);
/* One of its two connections is open, or gone. */
void tokens_up(struct pool_runtime *, struct connection *);
void tokens_down(struct pool_runtime *);
void tokens_publish_up(struct pool_runtime *, struct connection *);
void tokens_publish_down(struct pool_runtime *);
/* The channel of a token on a connection that consumes; a pool's own one has another number. */
bool tokens_is_channel(uint16_t channel);
void tokens_on_event(struct pool_runtime *, const struct amqp_event *, mtime now);
/* The pool whose token has this channel on the connection that publishes; NULL: none. */
struct pool_runtime *tokens_publisher(struct supervisor *, uint16_t channel);
/* The channel of its token: on the connection that publishes, or on that which consumes. */
uint16_t tokens_channel(const struct pool_runtime *, bool publishes);

/* The guards of all supervisors: kill the workers whose lease is over. */
void tokens_guard(struct world *);
/* When a guard does that next; MTIME_NEVER: no lease ends. */
mtime tokens_guard_deadline(const struct world *);
/* True: at rest one pool has the token, and it is the only message of its queue. */
bool tokens_are_settled(const struct world *);

/* Before the run: the token of a holder that died, and was not the first. */
void tokens_precede(struct world *);
/* Somebody who may not publishes to the token's queue: a token, or bytes that are none. */
void tokens_forge(struct world *);

#endif
