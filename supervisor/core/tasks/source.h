/* A source: one queue on one channel, its epoch, and the ledger of unacked deliveries. Layer: core.
 * The only place that acks: a RELEASED delivery is acked at the end of the turn or, while other
 * acks are expected, at most 20 ms later, or longer with sessions; an accepted one at the end of
 * the turn or, where tasks are short, at most 2 ms later. The ledger is a list in order of tag and
 * not a ring, because one delivery may be unacked for minutes while millions pass. Owns the
 * RELEASED deliveries. Never acks in an epoch that is over, never after SOURCE_CLOSE was requested,
 * and never tag 0. */
#ifndef CORE_TASKS_SOURCE_H
#define CORE_TASKS_SOURCE_H

#include "core/effects.h"

#define SOURCE_STATES(X)                                                                           \
	X(SOURCE_IS_ABSENT)    /* no channel; the ledger is empty */                               \
	X(SOURCE_IS_CONSUMING) /* deliveries may come */                                           \
	X(SOURCE_IS_RESTED)    /* the consumer is cancelled; acks still go out on the channel */   \
	X(SOURCE_IS_CLOSING)   /* CLOSE or LEAVE was requested: no ack and no reject goes out */

enum source_state {
#define X(state) state,
	SOURCE_STATES(X)
#undef X
};

struct source {
	const struct effects *effects; /* borrowed until the pool's end, like io */
	void *io;
	enum source_state state;
	enum source_request request;
	uint32_t window; /* of the last CONSUME */
	uint32_t epoch;
	uint64_t last_tag;
	bool has_gap;         /* a tag was skipped; it may be unacked, and is not ours to ack */
	struct link unacked;  /* deliveries in order of tag */
	struct link released; /* the RELEASED ones, in order of release */
	struct link accepted; /* those that are acked soon, and go on */
	struct link acked; /* those with a session that a flush has acked; the caller takes them */
	uint32_t open;     /* how many are in unacked */
	size_t bytes;      /* of their bodies and properties */
	uint32_t released_count; /* how many are in released */
	mtime released_since;    /* the first one came, or acks were last due; MTIME_NEVER: none */
	mtime accepted_since; /* the first one was accepted whose ack may wait; MTIME_NEVER: none */
	mtime aged_at; /* when the list was last examined for those that waited for too long */
	/* with sessions */
	bool has_sessions;
	bool is_ordered;  /* acks in order came fast in the last measure */
	uint32_t ordered; /* such acks since measured_at */
	mtime measured_at;
	mtime ordered_at;      /* the last of them */
	uint64_t excluded_tag; /* deliveries up to this tag do not count in the window */
	uint32_t excluded;     /* how many of those are unacked */
};

void source_init(struct source *, bool has_sessions, const struct effects *, void *io);

/* Set the present request: one effect, repeated when a channel opens that it does not fit. */
void source_consume(struct source *, uint32_t window);
/* From now on do not count what is unacked in the window: it came to a consumer that is gone. */
void source_exclude_unacked(struct source *);
void source_rest(struct source *);
/* Flush the acks, then barrier and close; the next source_consume opens another channel. */
void source_leave(struct source *);
void source_close(struct source *);

/* True: this epoch is the present one, and its channel is open. */
bool source_is_current(const struct source *, uint32_t epoch);
/* True: this epoch is newer than the last one. */
bool source_is_newer(const struct source *, uint32_t epoch);
/* A newer epoch begins. The source must be ABSENT. */
void source_up(struct source *, uint32_t epoch);
void source_rested(struct source *);
/* The ledger must be empty. */
void source_down(struct source *);

/* False: a delivery with this tag cannot be entered: the tag is not above the last one, or the
 * source is ABSENT or CLOSING. */
static inline bool source_accepts(const struct source *source, uint64_t tag)
{
	return source->state != SOURCE_IS_ABSENT && source->state != SOURCE_IS_CLOSING &&
	       tag > source->last_tag;
}
/* Enter a delivery of the present epoch, whose tag is accepted, in the ledger. */
void source_open(struct source *, struct delivery *);
/* The delivery may be acked: it moves in, and a flush acks and frees it, or appends it to .acked;
 * one that is_rejected is rejected instead. */
void source_release(struct delivery *);
/* The worker has accepted the delivery: a flush acks it soon. From then on it is a live one without
 * a source, owned by the caller. */
void source_accept(struct delivery *, mtime now);
/* Reject a delivery at once, and free it. Not while ABSENT or CLOSING. */
void source_reject(struct delivery *, enum reject);
/* Take a delivery out of the ledger without settling it: it becomes an orphan, owned by the
 * caller. */
void source_forget(struct delivery *);
/* Ack what is released: with one `multiple` up to the first delivery that is not, the rest
 * singly. */
void source_flush(struct source *);
/* The same at the end of a turn, except acks that wait for others: one ack for many costs a broker
 * half as much as one for each. While other deliveries are unacked, an ack waits
 *
 *   | which ack               | until so many are released      | at most                    |
 *   | in order                | 64, or an eighth of the window  | 10 ms                      |
 *   | out of order            | an eighth of the window         | 20 ms                      |
 *   | .. in a wide window     | half of the window              | 20 ms                      |
 *   | .. and with sessions    | any number                      | 100 ms; without end while  |
 *   |                         |                                 | acks in order come fast    |
 *   | of an accepted task,    | any number                      | 2 ms                       |
 *   | if is_short             |                                 |                            |
 *
 * is_hungry: no task waits for a worker; then acks of a full window do not wait, and of a wide one
 * with sessions a quarter does not, except while acks in order come fast. is_short: tasks are
 * expected to take less than a few milliseconds. */
void source_flush_due(struct source *, bool is_hungry, bool is_short, mtime now);
/* When the next flush is due, without any event; MTIME_NEVER: no ack waits. */
mtime source_deadline(const struct source *);

#endif
