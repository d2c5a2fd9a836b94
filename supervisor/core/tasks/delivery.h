/* A delivery: a message as the broker handed it over, and its state in the pool. Layer: core, plain
 * data. One block of memory for each message: allocated when its header frame arrives (broker/),
 * moved into the pool with the DELIVERY event, freed by the pool when it is acked or its channel is
 * gone. */
#ifndef CORE_TASKS_DELIVERY_H
#define CORE_TASKS_DELIVERY_H

#include "base/list.h"
#include "base/mtime.h"
#include "base/text.h"
#include "core/tasks/outbox.h"
#include "core/throttle/throttle.h"
#include "core/timers.h"

#define DELIVERY_STATES(X)                                                                         \
	X(DELIVERY_QUEUED)   /* waits in the pool's buffer for a worker */                         \
	X(DELIVERY_SENT)     /* in a worker's pipe (pipe.h: which ones count as begun) */          \
	X(DELIVERY_ANSWERED) /* its attempt is over; its parcel waits for the broker's confirm */  \
	X(DELIVERY_SETTLED)  /* of a pool with sessions: it waits for those before it in its lane, \
				or for its redelivery */                                           \
	X(DELIVERY_RELEASED) /* settled and confirmed: acked at the end of this turn, or of a      \
				later one */

enum delivery_state {
#define X(state) state,
	DELIVERY_STATES(X)
#undef X
};

/* Whether an operator has ordered to end the attempt, and what follows unless the task is done. */
enum task_kill { KILL_NOT, KILL_AND_RETRY, KILL_AND_GIVE_UP };

struct pipe;
struct session;
struct source;
struct throttle_group;

/* What each message touches stands first, so that it is in few lines of the processor's cache. */
struct delivery {
	/* its state, written by the pool */
	struct link place;     /* QUEUED: in the list of waiting tasks; SENT: in its slot's pipe */
	struct link unacked;   /* its source's ledger, by tag; detached, with a key: their list */
	struct link released;  /* in its source: RELEASED: acks to flush; else: accepted ones */
	struct source *source; /* NULL: acked (is_accepted), or its channel is gone (sessions.h:
				  detached, or an orphan) */
	enum delivery_state state;
	uint8_t holds;    /* number of delivery_hold calls without a delivery_release */
	bool is_freed;    /* the owner has freed it; the memory stays while it is held */
	bool is_aged;     /* RELEASED: it has waited for the acks before it for a while */
	bool is_accepted; /* by its worker: its message is acked soon, or was (no source) */
	bool is_blamed;   /* SENT: if its worker ends now, this attempt has failed */
	uint8_t kill;     /* enum task_kill, of the latest attempt */
	bool is_overdue;  /* SENT: over the hard limit, and it is not known which task has hung */
	bool is_later;    /* with a key: its next attempt goes before both lanes */
	bool is_rejected; /* SETTLED: it is rejected in place of acked */
	bool is_disposed; /* with a key: by command, before it ran; its ack waits for no other */
	/* from the broker and its headers, if each message touches it */
	bool is_high;        /* priority 5 and above: the high lane of its session */
	bool is_suspect;     /* it may end the worker that runs it, so it runs alone: a worker ended
				with several tasks open, or x-wpool-reason says so */
	bool redelivered;    /* the broker had delivered it before */
	bool is_time_ours;   /* not_before_ms is from x-wpool-not-before */
	uint16_t attempt;    /* failed attempts so far (x-wpool-attempt) */
	uint16_t renewed;    /* times published as new (x-wpool-renewed) */
	enum reason invalid; /* REASON_NONE, or why it cannot be sent to a worker */
	uint64_t tag;
	size_t content;          /* bytes of body and properties; set by source_open */
	struct session *session; /* NULL: no key, or given up */
	struct link in_lane;     /* in its lane, until it is RELEASED; without a key: in the list of
				    detached ones */
	/* throttling.h */
	struct throttle_group *group;       /* QUEUED: that it waits in, or NULL */
	uint64_t throttle_keys[PASSES_MAX]; /* for each throttle of its pool: see throttle_ask */
	uint32_t keys_for;                  /* the list of throttles that its keys are for */
	bool was_delayed;                   /* it had to wait for one */
	/* SENT */
	struct pipe *pipe;    /* that it is in */
	struct numbered open; /* in dispatch's table, by id */
	struct link begun;    /* if the hard limit applies to it: in the list by begun_at */
	mtime begun_at;       /* at the answer before it, or when it was sent */
	struct timer soft;    /* its soft limit; .at 0: not set yet */

	mtime took;          /* ANSWERED: how long its worker took */
	uint64_t id;         /* of its latest attempt, for its worker; 0: no worker had it */
	int slot;            /* of that worker; -1: no worker had it */
	uint32_t life;       /* of that worker */
	struct output *rest; /* owned; with a key: the rest of its work, which the next attempt gets
				in place of its body and headers; or NULL */
	struct output *progress; /* owned: the latest of that attempt, cut; or NULL */
	struct parcel parcel;    /* ANSWERED: what must be confirmed before the ack */
	mtime queued_at;
	mtime failed_at; /* with a key: its first attempt since it was delivered; attempt is
			    above 0 */
	size_t size;     /* of bytes */
	mtime progress_at;
	mtime hard_limit;  /* of this attempt, set by its worker; 0: the pool's */
	struct timer hard; /* if it has its own and is not overdue: when that is over */

	/* from the broker */
	uint32_t returns; /* x-delivery-count; 0 where the queue does not count */
	struct text exchange;
	struct text routing_key;

	/* from its properties; texts point into bytes */
	struct text properties; /* raw property flags and values */
	struct text headers;    /* raw header table without its length; empty: none */
	struct text key;        /* of its session; empty: it has none */
	struct text reply_to;
	struct text correlation_id;
	struct text message_id;
	uint32_t key_at; /* where the name of the header with the key is in headers; 0: the key
			    is not in a header */
	uint32_t slice;  /* times handed back (x-wpool-slice) */
	int64_t not_before_ms; /* it does not start before, since 1970 (x-wpool-not-before, else
				  NotBefore); 0: at once */
	int64_t soft_ms;       /* its own soft limit (TimeoutMilliseconds); -1: the pool's */
	struct text body;
	mtime throttled_at; /* it waits in groups (throttling.h) since then */
	uint8_t bytes[];
};

/* True: its channel is gone, and it waits for its redelivery (sessions.h). */
static inline bool delivery_is_detached(const struct delivery *delivery)
{
	return !delivery->source && !list_is_empty(&delivery->in_lane);
}

/* False: an orphan. Its message is delivered again as another one, so what comes of this one is
 * dropped. */
static inline bool delivery_is_live(const struct delivery *delivery)
{
	return delivery->source || delivery->is_accepted || delivery_is_detached(delivery);
}

/* Allocate a delivery with size bytes in .bytes, owned by the caller. soft_ms and slot are -1,
 * everything else is zero or empty. NULL: out of memory. */
struct delivery *delivery_new(size_t size);
void delivery_free(struct delivery *);
/* Keep the delivery in memory after delivery_free, for code that still reads its bytes: until each
 * hold (at most 255 at once) is released. */
void delivery_hold(struct delivery *);
void delivery_release(struct delivery *);
#define DELIVERY_NAME_MAX  64 /* bytes; a longer one is cut */
#define DELIVERY_NAME_SIZE (1 + TEXT_DECIMAL_MAX)
/* Its name for people: its correlation id, else its message id, else "#" and its tag. The text is
 * in the delivery or in buffer. */
struct text delivery_name(const struct delivery *, char buffer[DELIVERY_NAME_SIZE]);
/* The bytes that it takes in memory, for the limits. */
size_t delivery_size(const struct delivery *);
#endif
