/* The channel of a probe, which asks the broker something every few seconds. Layer: broker, without
 * I/O. One request is open at a time, and the channel rests between two of them. A probe has a
 * channel of its own, because the broker closes the channel of a request that it refuses. What is
 * asked, and what an answer means, is the probe's. */
#ifndef BROKER_BACKLOG_PROBE_CHANNEL_H
#define BROKER_BACKLOG_PROBE_CHANNEL_H

#include "amqp/channel.h"

/* The delay before the first request: by then the queue has been declared. */
#define PROBE_FIRST MTIME_SECOND
/* The delay from an answer to the next request. */
#define PROBE_EVERY (5 * MTIME_SECOND)
/* The delay if there was no queue: each such request costs a channel and a line in the broker's
 * log. */
#define PROBE_MISSING MTIME_MINUTE

enum probe_channel_state {
	PROBE_OFFLINE,
	PROBE_RESTS,  /* until next_at */
	PROBE_OPENS,  /* the channel */
	PROBE_AWAITS, /* an answer */
	PROBE_CLOSES, /* the channel */
};

struct probe_channel {
	struct connection *connection; /* borrowed; NULL: offline */
	uint16_t number;
	enum probe_channel_state state;
	mtime next_at;
};

/* The connection is open (borrowed until probe_channel_down), or gone. number: for this probe only;
 * if it is above the connection's limit, the channel stays offline. */
void probe_channel_up(struct probe_channel *, struct connection *, uint16_t number, mtime now);
void probe_channel_down(struct probe_channel *);
void probe_channel_rest(struct probe_channel *, mtime now, mtime span);
/* When the rest ends; MTIME_NEVER: it does not rest. */
mtime probe_channel_deadline(const struct probe_channel *);
/* True: the channel is open, and awaits the answer to what the caller now asks. False: it opens. */
bool probe_channel_open(struct probe_channel *) MUST_CHECK;
void probe_channel_close(struct probe_channel *);

#endif
