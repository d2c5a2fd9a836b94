/* The token of a pool with sessions: which supervisor of a queue is the active one. Layer: core,
 * pure. A queue with a single active consumer has one message, the token; the supervisor that has
 * it unacked is active, the others wait. To take it over, to renew it and to leave is one step:
 * publish the next token, wait for the broker's confirm, ack the old one. A token that we published
 * counts only after it was also delivered to us: what was in the queue before it has been seen by
 * then, and the broker still takes us for the active consumer.
 * If the broker takes no publishes (an alarm), the token that we hold is requeued instead: its
 * redelivery proves the same.
 * All times are of a clock that counts suspension, unlike those of the pool. */
#ifndef CORE_TOKEN_H
#define CORE_TOKEN_H

#include "base/mtime.h"
#include "base/text.h"

/* The prefetch of the token's consumer: the token that counts, and one to compare with it. */
#define TOKEN_PREFETCH 2
/* Bytes, 1 to this. */
#define TOKEN_HOLDER_MAX   255
#define TOKEN_HANDOVER_MAX ((size_t)64 * 1024)
/* Maximum of epoch and counter; no honest token reaches it. */
#define TOKEN_NUMBER_MAX ((uint64_t)1 << 40)
/* The token is renewed so often within takeover_delay. */
#define TOKEN_RENEWALS 6
/* At most so long between two of them: a broker closes the channel over a message that is unacked
 * for 30 minutes. */
#define TOKEN_RENEWAL_MAX (10 * MTIME_MINUTE)
/* A holder that lives so long sets the count of deaths to 0. */
#define TOKEN_DEATHS_KEPT (10 * MTIME_MINUTE)

struct token_content {
	struct text holder; /* unique: host, process and pool; empty at epoch 0: there was none */
	uint64_t epoch;     /* grows with each takeover; 0: published by a supervisor's start */
	uint64_t counter;   /* grows with each publish of an epoch */
	/* The largest prefetch of a consumer whose messages may still come back. A smaller one
	 * would break their order. */
	uint32_t window;
	/* How long the next holder waits before it runs what is redelivered: takeover_delay, or
	 * what was left of the holder's own wait if that is longer; if is_orderly, always the
	 * latter. */
	mtime delay;
	bool is_orderly;      /* the holder has left; it runs nothing and holds no message */
	uint32_t deaths;      /* holders that died in a row; an orderly leave ends it */
	struct text handover; /* opaque here; at most TOKEN_HANDOVER_MAX bytes */
};

/* What the new holder is told. */
struct token_grant {
	bool is_orderly; /* the former holder left in order, or was this pool itself */
	uint32_t deaths;
	mtime delay;     /* wait so long before anything redelivered runs */
	uint32_t window; /* that the token names: our own, or the larger one of a holder before */
	struct text handover; /* of the former holder, if it was another; borrowed for the call */
};

struct token_config {
	struct text holder; /* our name; borrowed until token_free */
	uint32_t window;    /* our own prefetch */
	mtime delay;        /* takeover_delay; above 0 */
};

/* They never call back into the token. */
struct token_effects {
	/* Publish it; then report its confirm, or that the publish channel is down. Only the latest
	 * publish matters. The content is borrowed for the call. */
	void (*publish)(void *io, const struct token_content *);
	void (*ack)(void *io, uint64_t tag);
	void (*requeue)(void *io, uint64_t tag);
	void (*held)(void *io, const struct token_grant *);
	/* The pool must not run keyed tasks any more. */
	void (*lost)(void *io);
	/* A token with the latest handover is confirmed: each later holder gets it. */
	void (*handed_over)(void *io);
	/* Each later holder gets a token with this window, of token_name_window. */
	void (*window_named)(void *io, uint32_t window);
	/* The pool may run keyed tasks until then; 0: it may not, or has none. */
	void (*lease)(void *io, mtime until);
};

#define TOKEN_STATES(X)                                                                            \
	X(TOKEN_STANDBY, "standby") /* without a token */                                          \
	X(TOKEN_TAKING, "taking over")                                                             \
	X(TOKEN_HOLDING, "active")                                                                 \
	X(TOKEN_LEAVING, "leaving") /* the orderly token is published, not confirmed */            \
	X(TOKEN_LEFT, "left")

enum token_state {
#define X(state, text) state,
	TOKEN_STATES(X)
#undef X
};

struct token_facts {
	enum token_state state;
	bool is_held;       /* this pool is the active one */
	struct text holder; /* of the latest token seen here; empty: none. Borrowed */
	uint64_t epoch, counter;
	mtime since;      /* is_held: it became the active one */
	mtime renewed_at; /* is_held: the latest proven renewal was sent */
	uint32_t deaths;
};

struct token;

/* Effects and config's text are borrowed until token_free. NULL: out of memory. */
struct token *token_new(const struct token_config *, const struct token_effects *, void *io);
void token_free(struct token *);

/* The consuming channel consumes, and its tags are new. Or it is gone: all that was unacked on it
 * goes back to the queue. */
void token_up(struct token *, mtime now);
void token_down(struct token *);
/* A valid token was delivered; it is acked when it does not count any more. Borrowed for the call.
 */
void token_offer(struct token *, uint64_t tag, const struct token_content *, mtime now);
/* The publish channel takes publishes, or is gone: what is unconfirmed may have been lost. */
void token_publisher_up(struct token *, mtime now);
void token_publisher_down(struct token *);
/* The latest publish is confirmed. */
void token_confirmed(struct token *, mtime now);

/* Pass the token on. The pool runs nothing keyed and its consuming channel is closed. It ends with
 * TOKEN_LEFT, after half of takeover_delay at the latest. */
void token_leave(struct token *, mtime now);
/* The delay for the tokens that follow, one of which is published at once if it is another, and the
 * window for the next takeover. The lease follows: a longer delay when a token that names it is
 * proven, a shorter one after one more proof, before a token names it. */
void token_configure(struct token *, uint32_t window, mtime delay, mtime now);
/* Put bytes into the tokens that follow until the lease is lost, and publish one at once if this
 * pool is active. They are copied. False: longer than TOKEN_HANDOVER_MAX; nothing has changed. */
bool token_hand_over(struct token *, struct text, mtime now);

/* The tokens that follow name this window, and one is published at once. Only while this pool is
 * active; window_named follows, unless the lease is lost before. */
void token_name_window(struct token *, uint32_t window, mtime now);

/* Find out whether this pool is still the active one, and was all the time: a token is published at
 * once. True of token_is_proven: it was, when that was asked for last. */
void token_prove(struct token *, mtime now);
bool token_is_proven(const struct token *);

/* When to call token_tick; MTIME_NEVER: it has nothing to do. */
mtime token_deadline(const struct token *);
void token_tick(struct token *, mtime now);

struct token_facts token_facts(const struct token *);
const char *token_state_name(enum token_state);

#endif
