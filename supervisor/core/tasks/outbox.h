/* The outbox: publishes that the broker has not confirmed. Layer: core.
 * Every parcel belongs to one delivery and is embedded in it: nothing here allocates per message.
 * A parcel keeps what is needed to publish it again, on any later channel. Numbers count from 1 in
 * each epoch of the publish channel, as the broker counts confirms.
 * Never forgets a parcel because of time; what ends one is a confirm, a return or a dead input. */
#ifndef CORE_TASKS_OUTBOX_H
#define CORE_TASKS_OUTBOX_H

#include "base/list.h"
#include "base/mtime.h"
#include "base/rc.h"
#include "core/exit.h"
#include "core/failure_wait.h"
#include "core/tasks/output.h"
#include "core/tasks/reason.h"

#define PARCEL_KINDS(X)                                                                            \
	X(PARCEL_REPLY)       /* 201: to the caller */                                             \
	X(PARCEL_HAND_BACK)   /* 201 to the queue it came from: the rest of a long task */         \
	X(PARCEL_RETRY)       /* a copy with one attempt more */                                   \
	X(PARCEL_DEAD_LETTER) /* a copy for the dead-letter queue */                               \
	X(PARCEL_RENEW)       /* the same, as new: the broker had counted it too often */

enum parcel_kind {
#define X(kind) kind,
	PARCEL_KINDS(X)
#undef X
};

/* The broker could not route it; its confirm follows. */
enum parcel_return {
	RETURNED_NOT,
	RETURNED_HOLD,   /* when confirmed it waits */
	RETURNED_RESEND, /* when confirmed it is published at once: its queue may be there now */
};

enum outbox_state {
	OUTBOX_IS_DOWN, /* no channel; nothing is sent */
	OUTBOX_IS_UP,
	OUTBOX_IS_PROBING, /* the one in sent is a suspect; nothing follows before its confirm */
};

enum outbox_loss {
	LOSS_CONNECTION, /* cut, heartbeat, closed in order: no fault of a publish */
	LOSS_SHARED,     /* closed with an error code while several pools published: no blame */
	LOSS_CLOSED,     /* the same while only this pool did: perhaps one of the unconfirmed */
	LOSS_CHANNEL,    /* the broker closed this channel: one of the unconfirmed did it */
};

struct delivery;
struct effects;

struct parcel {
	struct link order;    /* the outbox's, in order of seq; or its waiting list */
	struct parcel *chain; /* the outbox's table: same bucket */
	uint64_t seq;         /* in the present epoch; 0: not sent in it */
	enum parcel_kind kind;
	enum reason reason;        /* RETRY, DEAD_LETTER */
	mtime delay;               /* RETRY: for the queue of this delay; 0: its own, at once */
	struct exit_info exit;     /* of the worker, where one ended */
	const char *what;          /* REASON_PROTOCOL: its error, static words; else NULL */
	struct delivery *delivery; /* the one it is embedded in */
	/* owned; REPLY and HAND_BACK, else the last answer, or, of a worker that gave none, only
	 * its words (status 0), or NULL */
	struct output *output;
	mtime due; /* refused: when it is published again */
	enum parcel_return returned;
	uint16_t refusals;   /* times the broker refused it */
	uint16_t suspicions; /* times a connection ended in error while it alone was open */
};

/* Most bytes sent and not confirmed, but for a parcel that alone is larger: what a broker that has
 * stopped reading makes us hold twice. */
#define OUTBOX_SENT_MAX ((size_t)64 * 1024 * 1024)

/* A parcel stands in exactly one of the lists. */
struct outbox {
	const struct effects *effects; /* borrowed until the pool's end, like io */
	void *io;
	struct link sent;     /* unconfirmed in this epoch, in order of seq */
	struct link suspects; /* one of them cost a channel: sent alone, one at a time */
	struct link waiting;  /* for the channel, or for the suspects to be through */
	struct link
		later[FAILURE_WAIT_STEPS]; /* refused, by length of the wait: so each is by due */
	struct parcel **buckets;           /* owned; the sent ones by seq */
	size_t bucket_count;               /* a power of two */
	size_t sent_count;
	size_t sent_bytes; /* of the sent ones */
	size_t count;      /* in all lists */
	size_t bytes;      /* deliveries and outputs of all */
	uint64_t last_seq;
	uint32_t epoch;
	enum outbox_state state;
};

/* RC_MEMORY. */
enum rc outbox_init(struct outbox *, const struct effects *, void *io) MUST_CHECK;
/* The parcels are their deliveries': not freed. */
void outbox_release(struct outbox *);
bool outbox_is_current(const struct outbox *, uint32_t epoch);

/* This epoch is newer than the last one. */
bool outbox_is_newer(const struct outbox *, uint32_t epoch);

/* A fresh channel of a newer epoch: what waits is published in its order with new numbers. */
void outbox_up(struct outbox *, uint32_t epoch);
/* The channel is gone: what was sent waits again, before all others. Those whose delivery is an
 * orphan leave, into *ret_orphans. Returns the parcel that cost the
 * channel, taken out, or NULL. */
struct parcel *outbox_down(struct outbox *, enum outbox_loss, struct link *ret_orphans);

/* Moves in; published at once if nothing forbids it. kind, reason, exit and output are set. */
void outbox_put(struct outbox *, struct parcel *);
/* Moves in; published again after failure_wait(step). */
void outbox_put_later(struct outbox *, struct parcel *, unsigned step, mtime now);
/* The sent parcel of that number, or NULL. */
struct parcel *outbox_find(const struct outbox *, uint64_t seq);
/* The sent parcel of the lowest number, or NULL. */
struct parcel *outbox_oldest(const struct outbox *);
/* Moves out, from wherever it stands. */
void outbox_take(struct outbox *, struct parcel *);
/* Publish at once what was returned, since its queue may be there now; if its confirm is still to
 * come, then. */
void outbox_resend_returned(struct outbox *);
/* Publishes what is due, and the next suspect. */
void outbox_tick(struct outbox *, mtime now);
mtime outbox_deadline(const struct outbox *);

#endif
