/* Reads the messages of a queue one after the other, and leaves in place those that are not
 * removed: nothing is acked unless the handler wants it, and unacked messages go back when the
 * channel closes. Layer: dead_letters. The window grows while messages stay unacked, limited in
 * number and size. A quorum queue delivers messages that were handed back before the others, and
 * puts what is handed back again behind them. So once the reader has read one of them it reads all
 * of them, to keep their order. It reads no more messages than the queue had at the start, so that
 * it does not read any twice. After a lost connection it stops. */
#ifndef DEAD_LETTERS_READER_H
#define DEAD_LETTERS_READER_H

#include "broker/confirm_channel.h"
#include "broker/subscriptions.h"
#include "dead_letters/dead_letters.h"
#include "publish/broker_client.h"

#define READER_CHANNEL 1
/* The most unacked messages at once. What stays must be held until all is read: a quorum queue puts
 * what is handed back in front, so a second look would see the same messages again. */
#define READER_WINDOW_MAX    1000000
#define READER_CONSUMERS_MAX (SUBSCRIPTIONS_PLACES - SUBSCRIPTIONS_SYNC_STEPS)
/* The most by which the window is widened at once: what a replay has published and is not confirmed
 * must fit into UNCONFIRMED_MAX. */
#define READER_STEP_MAX 32768

enum reader_fate {
	READER_STAYS,
	READER_GOES, /* acked at once */
	READER_WAITS /* until reader_settle */
};

struct reader_handler {
	/* Called for each message that matches, borrowed for the call. May call reader_stop. */
	enum reader_fate (*on_letter)(void *ctx, const struct dead_letter *);
	/* Called for a confirm, a refusal or a return. NULL: nothing is published, and the channel
	 * is not in confirm mode. */
	void (*on_answer)(void *ctx, const struct publish_answer *, const struct amqp_event *);
};

#define READER_STATES(X)                                                                           \
	X(READER_CONNECTING)                                                                       \
	X(READER_OPENING)                                                                          \
	X(READER_COUNTING)                                                                         \
	X(READER_SELECTING) /* confirm mode */                                                     \
	X(READER_READING)                                                                          \
	X(READER_SETTLING) /* reads no more; some messages still wait */                           \
	X(READER_SYNCING)  /* until the queue has all acks */                                      \
	X(READER_CLOSING)                                                                          \
	X(READER_REOPENING)                                                                        \
	X(READER_CHECKING) /* until the queue has the unacked messages back */                     \
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
	struct broker_client client;
	enum reader_state state;
	struct subscriptions subscriptions;
	struct confirm_channel channel; /* where something is published */
	uint64_t count;                 /* messages in the queue at the start */
	uint64_t looked;                /* messages read */
	uint64_t matched;               /* of them */
	uint64_t acked, waiting;
	uint32_t consumers;    /* basic.consume that were answered */
	uint64_t bytes;        /* of the bodies read */
	uint64_t returns;      /* maximum of earlier returns of one message, as its queue counts */
	uint32_t seen;         /* bits of what->matches: headers that some message has */
	bool is_sated;         /* the limit of matches is reached */
	bool is_past_returned; /* the latest was never handed back, or the queue does not count */
	bool is_synced;        /* the queue has all acks */
	const char *short_of;  /* why it did not read all; NULL: it did */
	int exit_code;
	ev_timer tick;
	uint64_t looked_before; /* at the last tick */
	mtime idle_since;
};

/* Connect, read, hand back, disconnect. Print what went wrong and return an exit code. */
int reader_run(
	struct reader *, const struct dead_letters *, const struct reader_handler *, void *ctx);
/* Settle a message that waited: ack it, or leave it. */
void reader_settle(struct reader *, uint64_t tag, bool goes);
/* Read no more, and end in order. reason: for the operator; static. */
void reader_stop(struct reader *, int exit_code, const char *reason);

/* Messages left in the queue. Not certain after a lost connection: acks have no answer, and the
 * last ones may not have arrived. */
uint64_t reader_left(const struct reader *);
bool reader_is_certain(const struct reader *);
/* Print "; 3 left in QUEUE" and a newline. */
void reader_print_left(const struct reader *);

/* Return the wanted width of the window. now: its present width, 0 at the start; held: messages in
 * it that stay; wanted: the maximum it should hold; mean: mean bytes of a body so far. Pure. */
uint32_t reader_window(uint32_t now, uint64_t held, uint64_t wanted, uint64_t mean);

#endif
