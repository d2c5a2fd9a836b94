/* A delivery: a message as the broker handed it over, and where it stands. Layer: core, plain data.
 * One block of memory a message: made when its header frame arrives (broker/), moved into the pool
 * with the DELIVERY event, freed by the pool when it is acked or void. */
#ifndef CORE_TASKS_DELIVERY_H
#define CORE_TASKS_DELIVERY_H

#include "base/list.h"
#include "base/mtime.h"
#include "base/text.h"
#include "core/tasks/outbox.h"

#define DELIVERY_STATES(X)                                                                         \
	X(DELIVERY_QUEUED)   /* waits in the pool's buffer for a worker */                         \
	X(DELIVERY_SENT)     /* in a worker's pipe; only the head of a pipe counts as started */   \
	X(DELIVERY_ANSWERED) /* its attempt is over; its parcel waits for the broker's confirm */  \
	X(DELIVERY_RELEASED) /* nothing is missing any more: acked at the end of this turn */

enum delivery_state {
#define X(state) state,
	DELIVERY_STATES(X)
#undef X
};

struct source;

struct delivery {
	/* where it stands: the pool's */
	struct link place;     /* QUEUED: the session's fifo; SENT: its slot's pipe, oldest first */
	struct link unacked;   /* its source's ledger, in order of tag */
	struct link released;  /* RELEASED: its source's list of acks to flush */
	struct source *source; /* NULL: an orphan, the channel it came on is gone */
	struct parcel parcel;  /* ANSWERED: what must be confirmed before the ack */
	enum delivery_state state;
	mtime queued_at;
	mtime took;    /* ANSWERED: how long its worker was at it */
	int slot;      /* of that worker; -1: it had none yet */
	uint32_t life; /* and which one in that slot */
	bool is_aged;  /* RELEASED: and has waited for acks beside its own for a while */
	size_t room;   /* of bytes */
	uint8_t holds; /* delivery_hold: who still reads it */
	bool is_freed; /* by all but those */

	/* what the broker said */
	uint64_t tag;
	bool redelivered;
	uint32_t returns; /* x-delivery-count; 0 where the queue does not count */
	struct text exchange;
	struct text routing_key;

	/* what its properties say; texts point into bytes */
	struct text properties; /* raw property flags and values */
	struct text headers;    /* raw header table without its length; empty: none */
	struct text reply_to;
	struct text correlation_id;
	struct text message_id;
	struct text origin; /* x-wpool-queue: first consumed from; empty: this queue */
	uint16_t attempt;   /* failed attempts so far (x-wpool-attempt) */
	uint32_t slice;     /* times handed back (x-wpool-slice) */
	uint16_t renewed;   /* times published as new (x-wpool-renewed) */
	int64_t soft_ms;    /* its own soft limit (TimeoutMilliseconds); -1: the pool's */
	enum reason unfit;  /* REASON_NONE, or why no worker can be given it */
	struct text body;
	uint8_t bytes[];
};

/* Owned by the caller; room bytes in .bytes, everything else zero or empty, but soft_ms and
 * slot -1. NULL: out of memory. */
struct delivery *delivery_new(size_t room);
void delivery_free(struct delivery *);
/* For who still reads its bytes when the pool may have freed it, at most 255 at once: it is there
 * until the last of them releases it. */
void delivery_hold(struct delivery *);
void delivery_release(struct delivery *);
#define DELIVERY_NAME_MAX  64 /* bytes; a longer one is cut */
#define DELIVERY_NAME_ROOM (1 + TEXT_DECIMAL_MAX)
/* What people call it: its correlation id, else its message id, else "#" and its tag. In the
 * delivery, or in room. */
struct text delivery_name(const struct delivery *, char room[DELIVERY_NAME_ROOM]);
/* Bytes it holds in memory, for the limits. */
size_t delivery_size(const struct delivery *);

#endif
