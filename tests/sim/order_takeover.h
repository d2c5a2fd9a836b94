/* Takeovers in a run with a token: what a pool knows of the former holder, and the checks that it
 * waits for that one, names what may have ended it, and passes on all that it must. */
#ifndef SIM_ORDER_TAKEOVER_H
#define SIM_ORDER_TAKEOVER_H

#include "base/mtime.h"

#include <stdbool.h>
#include <stdint.h>

struct delivery;
struct event;
struct hand;
struct held;
struct pool_runtime;
struct session_handover;

/* What may happen to the token, and with it; counted in COVER_TAKEOVER. */
enum cover_takeover {
	TAKEOVER_ORDERLY, /* the former holder has left */
	TAKEOVER_DELAYED, /* it may still run tasks */
	TAKEOVER_CAREFUL, /* several died in a row */
	TAKEOVER_LOST,
	TAKEOVER_GUARD,  /* workers killed in place of their supervisor */
	TAKEOVER_HELD,   /* a redelivered message waits for the end of the delay */
	TAKEOVER_NAMED,  /* one is sent that the token names */
	TAKEOVER_PAUSED, /* handed over, from here on */
	TAKEOVER_PARKED,
	TAKEOVER_BLOCKED,
	TAKEOVER_REST,
	TAKEOVER_POISON,
	TAKEOVER_COUNT
};

/* What is handed over about the first message of a lane. */
struct heritage {
	bool is_there, is_refused, is_later, is_blocked, is_poison, has_rest;
	bool is_postponed;
	uint16_t failures;
	mtime wait;
};

/* Before a step: the pool gets the token, or loses it. */
void order_takeover_event(struct pool_runtime *, const struct event *);
/* A message has come that was not in hand. */
void order_takeover_arrives(struct pool_runtime *, uint32_t id, const struct delivery *);
/* Nothing else comes back. */
void order_takeover_forget(struct hand *);
/* True: something that is handed over has not come. */
bool order_takeover_awaits(const struct hand *, uint8_t key);
/* It waits for a former holder. */
bool order_takeover_holds(const struct pool_runtime *, const struct held *);
/* The first message of one of its lanes does. */
bool order_takeover_holds_session(const struct pool_runtime *, uint8_t key);
/* The pool sends a message with a key. */
void order_takeover_sent(struct pool_runtime *, uint32_t id);
/* The pool names a message in its token. NULL: none from now on. */
void order_takeover_names(struct pool_runtime *, const struct session_handover *);
bool order_takeover_awaits_name(const struct pool_runtime *, uint32_t id);
/* True: its token names a message, which would be to blame for a death. */
bool order_takeover_has_named(const struct pool_runtime *);
/* It would come back before all others of its lane. */
bool order_takeover_is_first(const struct pool_runtime *, uint32_t id);
/* At the end of a turn: the token names no message that has ended. */
void order_takeover_check(const struct pool_runtime *);
/* The pool passes something on; and it closes its channel for good. */
void order_takeover_passes(struct pool_runtime *, const struct session_handover *);
void order_takeover_closes(const struct pool_runtime *);

#endif
