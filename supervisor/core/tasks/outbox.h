/* The outbox: publishes that the broker has not confirmed. Layer: core. Every parcel belongs to one
 * delivery and is embedded in it: nothing here allocates per message. A parcel keeps what is needed
 * to publish it again on a later channel. Numbers count from 1 in each epoch of the publish
 * channel, as the broker counts confirms. A parcel has no time limit: it leaves by a confirm, a
 * return, or when its delivery's channel is gone. */
#ifndef CORE_TASKS_OUTBOX_H
#define CORE_TASKS_OUTBOX_H

#include "base/list.h"
#include "base/mtime.h"
#include "base/rc.h"
#include "core/exit.h"
#include "core/failure_wait.h"
#include "core/number_table.h"
#include "core/tasks/output.h"
#include "core/tasks/reason.h"

#define PARCEL_KINDS(X)                                                                            \
	X(PARCEL_REPLY)       /* 201: to the caller */                                             \
	X(PARCEL_HAND_BACK)   /* 201 to the queue it came from: the rest of a long task */         \
	X(PARCEL_RETRY)       /* a copy with one attempt more */                                   \
	X(PARCEL_DEAD_LETTER) /* a copy for the dead-letter queue */                               \
	X(PARCEL_RENEW)       /* a copy with the same attempt: a renewal */                        \
	X(PARCEL_POSTPONE)    /* the same, which waits first: it may not start yet */              \
	X(PARCEL_LATER)       /* the same, in a wait queue: its time has not come */               \
	X(PARCEL_REFUSAL)     /* to the caller: it may not start before delay is over */

enum parcel_kind {
#define X(kind) kind,
	PARCEL_KINDS(X)
#undef X
};

/* The broker could not route it; its confirm follows. */
enum parcel_return {
	RETURNED_NOT,
	RETURNED_HOLD,   /* once confirmed, it waits */
	RETURNED_RESEND, /* once confirmed, it is published at once: its queue may exist now */
};

enum outbox_state {
	OUTBOX_IS_DOWN, /* no channel; nothing is sent */
	OUTBOX_IS_UP,
	OUTBOX_IS_PROBING, /* one parcel is sent alone; nothing follows before its confirm */
};

enum outbox_loss {
	LOSS_CONNECTION, /* cut, heartbeat, closed in order: not because of a publish */
	LOSS_SHARED,     /* closed with an error code; several pools had unconfirmed publishes */
	LOSS_CLOSED,     /* the same, but only this pool had: one of them may be the cause */
	LOSS_CHANNEL,    /* the broker closed this channel: one of them is the cause */
};

struct delivery;
struct effects;

struct parcel {
	/* owned. REPLY and HAND_BACK: what to publish. Others: the last answer; or, if the worker
	 * gave none, only its last stderr line (status 0); or NULL */
	struct output *output;
	const char *what;      /* REASON_PROTOCOL: its error; REASON_UNROUTABLE: why it was not
				  published; static text. POSTPONE, REFUSAL: name of the throttle,
				  see tasks_configure. Else NULL */
	struct exit_info exit; /* of the worker, where one ended */
	struct link order;     /* the outbox's, in order of seq; or its waiting list */
	struct numbered seq;   /* in the present epoch; 0: not sent in it */
	enum parcel_kind kind;
	enum reason reason; /* RETRY, DEAD_LETTER */
	mtime delay; /* RETRY, POSTPONE: goes to the queue of this delay; 0: to the pool's queue,
			at once. LATER: a wait_step or 0, chosen whenever it is published */
	mtime failing_for;         /* since its first failure, where that is not in its headers */
	struct delivery *delivery; /* the one it is embedded in */
	mtime due;                 /* refused: when it is published again */
	enum parcel_return returned;
	uint16_t refusals; /* times the broker refused it */
	uint16_t losses;   /* times a connection ended in error while only this parcel was
			      unconfirmed */
};

/* Maximum of bytes that are sent and not confirmed; a single larger parcel is sent alone. If the
 * broker stops reading, so many bytes are held twice: here and in the connection's output. */
#define OUTBOX_SENT_MAX ((size_t)64 * 1024 * 1024)

/* It goes to a retry queue or a wait queue if it has a delay. */
static inline bool parcel_may_wait(const struct parcel *parcel)
{
	return parcel->kind == PARCEL_RETRY || parcel->kind == PARCEL_POSTPONE ||
	       parcel->kind == PARCEL_LATER;
}

/* A parcel stands in exactly one of the lists. */
struct outbox {
	const struct effects *effects; /* borrowed until the pool's end, like io */
	void *io;
	struct link sent;    /* unconfirmed in this epoch, in order of seq */
	struct link probes;  /* one of them closed a channel: they are sent one at a time */
	struct link waiting; /* for the channel, or until all probes are confirmed */
	struct link later[FAILURE_WAIT_STEPS]; /* refused; a list for each wait, so each list is in
						  order of due */
	struct number_table by_seq;            /* the sent ones */
	size_t sent_bytes;                     /* of the sent ones */
	size_t count;                          /* in all lists */
	size_t bytes;                          /* deliveries and outputs of all */
	uint64_t last_seq;
	uint32_t epoch;
	enum outbox_state state;
};

/* RC_MEMORY. */
enum rc outbox_init(struct outbox *, const struct effects *, void *io) MUST_CHECK;
/* Does not free the parcels: they belong to their deliveries. */
void outbox_release(struct outbox *);
/* How many are sent and not confirmed. */
static inline size_t outbox_sent_count(const struct outbox *outbox)
{
	return outbox->by_seq.count;
}
bool outbox_is_current(const struct outbox *, uint32_t epoch);

/* This epoch is newer than the last one. */
bool outbox_is_newer(const struct outbox *, uint32_t epoch);

/* A new channel of a newer epoch is open: publish what waits, in order, with new numbers. */
void outbox_up(struct outbox *, uint32_t epoch);
/* The channel is gone: what was sent waits again, before all others; parcels whose delivery is an
 * orphan move to *ret_orphans. Take out and return the parcel that closed the channel, or return
 * NULL if that is not known. */
struct parcel *outbox_down(struct outbox *, enum outbox_loss, struct link *ret_orphans);

/* The parcel moves in, and is published at once if that is possible now. kind, reason, exit and
 * output are set. */
void outbox_put(struct outbox *, struct parcel *);
/* The parcel moves in; it is published again after failure_wait(step). */
void outbox_put_later(struct outbox *, struct parcel *, unsigned step, mtime now);
/* The sent parcel of that number, or NULL. */
struct parcel *outbox_find(const struct outbox *, uint64_t seq);
/* The sent parcel of the lowest number, or NULL. */
struct parcel *outbox_oldest(const struct outbox *);
/* Call on_parcel for each in any list; it moves none. */
void outbox_each(struct outbox *, void (*on_parcel)(void *ctx, struct parcel *), void *ctx);
/* Take the parcel out of its list. */
void outbox_take(struct outbox *, struct parcel *);
/* Publish again what was returned, because its queue may exist now: at once, or when its confirm
 * has come. */
void outbox_resend_returned(struct outbox *);
/* Publish what is due, and the next probe. */
void outbox_tick(struct outbox *, mtime now);
mtime outbox_deadline(const struct outbox *);

#endif
