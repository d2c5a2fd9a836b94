/* A source: one queue on one channel, its epoch, and the ledger of what the broker waits for.
 * Layer: core. The one answer to "when is a message acked": when its delivery is RELEASED, in the
 * turn that ends then or, while others are awaited, 20 ms later. The ledger is a list in order of
 * tag, not a window of tags: one delivery may be held for minutes while millions pass. Owns the
 * RELEASED deliveries; of the others it is told when they end. Never acks in an epoch that is over,
 * nor after the wish CLOSE, and never tag 0. */
#ifndef CORE_TASKS_SOURCE_H
#define CORE_TASKS_SOURCE_H

#include "core/effects.h"

#define SOURCE_STATES(X)                                                                           \
	X(SOURCE_IS_ABSENT)    /* no channel; the ledger is empty */                               \
	X(SOURCE_IS_CONSUMING) /* deliveries may come */                                           \
	X(SOURCE_IS_RESTED)    /* the consumer is cancelled, the channel settles on */             \
	X(SOURCE_IS_CLOSING)   /* CLOSE was wished: no ack, no reject any more */

enum source_state {
#define X(state) state,
	SOURCE_STATES(X)
#undef X
};

struct source {
	const struct effects *effects; /* borrowed until the pool's end, like io */
	void *io;
	enum source_state state;
	enum source_wish wish;
	uint32_t window; /* of the last CONSUME */
	uint32_t epoch;
	uint64_t last_tag;
	bool has_gap;         /* a tag was skipped: perhaps open and not ours to ack */
	struct link unacked;  /* deliveries in order of tag */
	struct link released; /* those of them that are RELEASED, in order of release */
	uint32_t open;        /* how many are in unacked */
	uint32_t ripe;        /* how many of them are in released */
	mtime ripe_since; /* they were last looked through, or the first one came; MTIME_NEVER: none
			   */
	uint64_t aside_tag; /* those up to it count beside the window */
	uint32_t aside;     /* how many of them are in unacked */
};

void source_init(struct source *, const struct effects *, void *io);

/* The present wish; each is told to io once, and again when a channel comes up against it. */
void source_consume(struct source *, uint32_t window);
/* What is unacked counts beside the window from now on: it came to a consumer that is gone. */
void source_set_aside(struct source *);
void source_rest(struct source *);
void source_close(struct source *);
bool source_wishes(const struct source *, enum source_wish);

/* A channel of this epoch is the present one. */
bool source_is_current(const struct source *, uint32_t epoch);
/* This epoch is newer than the last one. */
bool source_is_newer(const struct source *, uint32_t epoch);
/* A newer epoch begins. The source must be ABSENT. */
void source_up(struct source *, uint32_t epoch);
void source_rested(struct source *);
/* The ledger must be empty. */
void source_down(struct source *);

/* Into the ledger, tag and all. False: its tag is not above the last one, or the source is CLOSING;
 * then the delivery is still the caller's and must not be settled. */
bool source_open(struct source *, struct delivery *) MUST_CHECK;
/* Nothing is missing any more: moves in, acked and freed by a flush. */
void source_release(struct delivery *);
/* Tells the broker at once; moves in and frees. Not while ABSENT or CLOSING. */
void source_reject(struct delivery *, enum reject);
/* Out of the ledger without a word to the broker: the caller's from then on, an orphan. */
void source_forget(struct delivery *);
/* Acks what is released: one `multiple` as far as nothing is open, the rest singly. */
void source_flush(struct source *);
/* The same at the end of a turn, as far as it does not pay to wait. While more is on its way, what
 * is released waits for 20 ms at most, because one ack for many costs a broker half as much as one
 * for each: in order until it is an eighth of the window; out of order, in a wide window, for those
 * before it, until all that waits is half of it. is_hungry: nothing waits for a worker; then a full
 * window waits for nothing. */
void source_flush_ripe(struct source *, bool is_hungry, mtime now);
/* When a flush is wanted, whatever happens; MTIME_NEVER: nothing waits. */
mtime source_deadline(const struct source *);

#endif
