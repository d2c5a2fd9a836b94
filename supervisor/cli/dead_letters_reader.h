/* Looks at the messages of a queue, one after the other, and leaves in place whatever is not taken
 * off: nothing is acked unless told so, and what is unacked goes back when the channel closes.
 * Layer: cli. The window grows while messages stay unacked, bounded in number and by their size.
 * A quorum queue gives out what was handed back before the rest, and puts what is handed back again
 * behind that: so once it has begun on those, it reads on to their end, to keep their order.
 * Looks at no more than the queue had at the start, so that what comes back does not go round.
 * After a lost connection it stops. */
#ifndef CLI_DEAD_LETTERS_READER_H
#define CLI_DEAD_LETTERS_READER_H

#include "broker/subscriptions.h"
#include "cli/client.h"
#include "cli/dead_letters.h"

#define READER_CHANNEL 1
/* Unacked messages that are held at once: the widest window there is, but for the last steps. */
#define READER_WINDOW_MAX (65535 - SUBSCRIPTIONS_SYNC_STEPS)

enum reader_fate {
	READER_STAYS,
	READER_GOES, /* acked at once */
	READER_WAITS /* for reader_settle */
};

struct reader_handler {
	/* One that matches, borrowed for the call. May call reader_stop. */
	enum reader_fate (*on_letter)(void *ctx, const struct dead_letter *);
	/* Confirms and returns; NULL: nothing is published, and the channel not in confirm mode. */
	void (*on_event)(void *ctx, const struct amqp_event *);
};

#define READER_STATES(X)                                                                           \
	X(READER_CONNECTING)                                                                       \
	X(READER_OPENING)                                                                          \
	X(READER_COUNTING)                                                                         \
	X(READER_SELECTING) /* confirm mode */                                                     \
	X(READER_READING)                                                                          \
	X(READER_SETTLING) /* looks at no more; some still wait */                                 \
	X(READER_SYNCING)  /* until the queue has surely got the acks */                           \
	X(READER_CLOSING)                                                                          \
	X(READER_REOPENING)                                                                        \
	X(READER_CHECKING) /* until the queue has back what was unacked */                         \
	X(READER_OVER)

enum reader_state {
#define X(state) state,
	READER_STATES(X)
#undef X
};

struct reader {
	const struct dead_letters *what; /* borrowed */
	const struct reader_handler *handler;
	void *ctx;
	struct client client;
	enum reader_state state;
	struct subscriptions subscriptions;
	uint64_t count;   /* messages in the queue at the start */
	uint64_t looked;  /* so many were looked at */
	uint64_t matched; /* of them */
	uint64_t acked, waiting;
	uint32_t consumers; /* basic.consume that were answered */
	uint64_t bytes;     /* of bodies looked at */
	uint64_t returns; /* the most that a message was handed back before, as its queue counts */
	uint32_t seen;    /* of what->matches: bits, whose headers some message has */
	bool is_sated;    /* what matches is of no interest any more */
	bool is_past_returned; /* the latest was never handed back before, or the queue does not say
				*/
	bool is_synced;        /* the queue has surely got the acks */
	const char *short_of;  /* why not all that was to be looked at was; NULL: it was */
	int exit_code;
	ev_timer tick;
	uint64_t looked_before; /* at the last tick */
	mtime idle_since;
};

/* Connects, looks, hands back, disconnects. Returns an exit code, and said what went wrong. */
int reader_run(
	struct reader *, const struct dead_letters *, const struct reader_handler *, void *ctx);
/* One that waited: acked, or left. */
void reader_settle(struct reader *, uint64_t tag, bool goes);
/* Is told of no more, and ends in order. words: why, for the operator; static. */
void reader_stop(struct reader *, int exit_code, const char *words);

#endif
