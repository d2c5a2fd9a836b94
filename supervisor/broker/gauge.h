/* How many messages wait in a queue: the broker is asked now and then, on a channel of its own.
 * Layer: broker, without I/O.
 * A passive declare changes nothing and needs no right, but where the queue is missing it costs the
 * channel: so it is none that anybody's messages are on. One question is out at a time; where its
 * answer is late the figure is old, and nothing else. */
#ifndef BROKER_GAUGE_H
#define BROKER_GAUGE_H

#include "amqp/channel.h"

/* Who declares the queue has done it by then. */
#define GAUGE_FIRST MTIME_SECOND
/* From an answer to the next question. */
#define GAUGE_EVERY (5 * MTIME_SECOND)
/* From the look that found no queue, because each costs a channel and a line in the broker's log.
 */
#define GAUGE_MISSING MTIME_MINUTE

enum gauge_state {
	GAUGE_OFFLINE,
	GAUGE_RESTS,  /* until next_at */
	GAUGE_OPENS,  /* the channel */
	GAUGE_AWAITS, /* an answer */
};

/* What the broker has said last. */
struct backlog {
	uint32_t messages; /* ready, handed to nobody */
	mtime at;          /* MTIME_NEVER: nothing is known */
};

struct gauge {
	struct text queue;             /* borrowed */
	struct connection *connection; /* borrowed; NULL: offline */
	uint16_t channel;
	enum gauge_state state;
	mtime next_at;
	struct backlog backlog;
};

void gauge_init(struct gauge *, struct text queue);
/* The connection is open (borrowed until gauge_down), or gone. channel: nobody else's; where the
 * connection has not so many, nothing is asked. */
void gauge_up(struct gauge *, struct connection *, uint16_t channel, mtime now);
void gauge_down(struct gauge *);
/* An event of its channel. */
void gauge_on_event(struct gauge *, const struct amqp_event *, mtime now);
/* The queue is known to be there: after it was missing it is asked about as often as before. */
void gauge_hint(struct gauge *, mtime now);

/* When gauge_tick wants to be called; MTIME_NEVER: not by itself. */
mtime gauge_deadline(const struct gauge *);
void gauge_tick(struct gauge *, mtime now);

#endif
