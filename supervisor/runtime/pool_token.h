/* The token of a pool at work: names it, gives the pool its events, and the guard its lease. Layer:
 * runtime. A pool without sessions, or with takeover_delay none, has none. */
#ifndef RUNTIME_POOL_TOKEN_H
#define RUNTIME_POOL_TOKEN_H

#include "broker/consumer.h"
#include "broker/token_channel.h"
#include "config/config.h"
#include "core/pool.h"
#include "message/handover.h"

#define POOL_TOKEN_QUEUE_MAX 255
#define POOL_TOKEN_HOST_MAX  64

struct guard;

struct pool_token {
	struct token_channel *channel; /* owned; NULL: the pool has no token */
	struct token_channel_config config;
	struct token_handler handler;
	const struct channel_log *log;   /* borrowed */
	struct pool *pool;               /* borrowed */
	struct guard *guard;             /* borrowed */
	struct handover_writer handover; /* of the pool's sessions, when it is drained */
	struct buf name;                 /* memory for a name, so that it is never out of it */
	bool has_named;                  /* the token may name a message */
	bool is_proving;                 /* the consumer waits for token_is_proven */
	unsigned lease;                  /* its number with the guard; 0: none */
	char queue[POOL_TOKEN_QUEUE_MAX + 1];
	char holder[TOKEN_HOLDER_MAX + 1];
};

/* Which pool of which process it is. */
struct pool_token_origin {
	const char *host; /* at most POOL_TOKEN_HOST_MAX bytes */
	int pid;
	const char *run; /* a random number of this process, as digits */
	uint32_t serial; /* of the pool, in this process */
	uint16_t place;
	uint32_t seed;
};

/* The number of the pool's lease with the guard; 0: it has no token. */
unsigned pool_token_lease(const struct pool_config *, uint16_t place);
/* log and guard are borrowed until pool_token_release, like the pool. False: out of memory. */
bool pool_token_init(struct pool_token *, const struct pool_config *, const char *queue,
	const struct pool_token_origin *, const struct channel_log *, struct guard *) MUST_CHECK;
void pool_token_attach(struct pool_token *, struct pool *);
void pool_token_release(struct pool_token *);

/* Another configuration: its prefetch and takeover_delay are used from now on. Whether there is a
 * token does not change. */
void pool_token_configure(struct pool_token *, const struct pool_config *);
/* Name the message that is sent next: TOKEN_NAMED follows when the token has it. NULL: name none.
 */
void pool_token_name(struct pool_token *, const struct session_handover *);
/* Name the window: TOKEN_WINDOW follows when the token does. */
void pool_token_name_window(struct pool_token *, uint32_t window);
/* Add a session to what is handed over with the token. */
void pool_token_hand_over(struct pool_token *, const struct session_handover *);
/* Let the pool's consumer consume when the pool is proven to be the active one. Called in each
 * turn.
 */
void pool_token_prove(struct pool_token *, struct consumer *, mtime now);
/* Pass the token on, now that the pool is quiet. True: it is passed on, or there is none. Called in
 * each turn. */
bool pool_token_has_passed(struct pool_token *);
/* The queue of the token is consumed, and can be published to: the pool will be the active one when
 * no other is. */
bool pool_token_waits(const struct pool_token *);

/* When the next turn is needed, by clock_now. */
mtime pool_token_deadline(const struct pool_token *, mtime now);
void pool_token_tick(struct pool_token *);

/* All zero: the pool has no token. Its times are of clock_boot. */
struct token_facts pool_token_facts(const struct pool_token *);

#endif
