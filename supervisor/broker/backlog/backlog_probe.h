/* Ask the broker every few seconds how many messages wait in a queue, and on request of what type
 * it is. Layer: broker, without I/O. The request is a passive declare, which changes nothing and
 * needs no permission. A late answer only makes the figure old. The type is in the text by which
 * the broker refuses a basic.consume that suits no type; the right to read is enough, and nothing
 * changes but that the channel is closed. A classic queue may not be durable: that is in the text
 * by which the broker refuses a declare that no queue can have, which needs the right to configure.
 */
#ifndef BROKER_BACKLOG_BACKLOG_PROBE_H
#define BROKER_BACKLOG_BACKLOG_PROBE_H

#include "broker/backlog/probe_channel.h"

/* The texts are an interface (docs/control.md). */
#define QUEUE_TYPES(X)                                                                             \
	X(QUEUE_TYPE_UNKNOWN, "unknown") /* not asked, or the broker hides it */                   \
	X(QUEUE_TYPE_CLASSIC, "classic")                                                           \
	X(QUEUE_TYPE_QUORUM, "quorum")                                                             \
	X(QUEUE_TYPE_STREAM, "stream")

enum queue_type {
#define X(type, text) type,
	QUEUE_TYPES(X)
#undef X
};

const char *queue_type_name(enum queue_type);

/* Whether the queue outlives its broker. The texts are an interface (docs/control.md). */
#define QUEUE_DURABILITIES(X)                                                                      \
	X(QUEUE_DURABILITY_UNASKED, "not-asked") /* or not answered yet */                         \
	X(QUEUE_DURABILITY_UNKNOWN, "unknown")   /* no right to ask */                             \
	X(QUEUE_DURABLE, "yes")                                                                    \
	X(QUEUE_TRANSIENT, "no")

enum queue_durability {
#define X(durability, text) durability,
	QUEUE_DURABILITIES(X)
#undef X
};

const char *queue_durability_name(enum queue_durability);

/* The broker's latest answer. */
struct backlog {
	uint32_t messages; /* ready, not delivered */
	mtime at;          /* MTIME_NEVER: unknown */
	/* The queue has had several consumers in this answer and the one before: one of them is
	 * about to leave for a moment only. */
	bool is_shared;
};

enum backlog_request {
	ASKS_BACKLOG,
	ASKS_TYPE,       /* which a refusal shows */
	ASKS_DURABILITY, /* the same */
};

struct backlog_probe {
	struct text queue; /* borrowed */
	struct probe_channel channel;
	enum backlog_request asked; /* the latest request */
	struct backlog backlog;
	bool is_crowded; /* several consumers in the latest answer */
	enum queue_type type;
	bool is_type_wanted;
	enum queue_durability durability;
	bool is_durability_wanted; /* asked after the type, if that does not show it */
};

void backlog_probe_init(struct backlog_probe *, struct text queue);
/* See probe_channel_up. */
void backlog_probe_up(struct backlog_probe *, struct connection *, uint16_t channel, mtime now);
void backlog_probe_down(struct backlog_probe *);
/* Handle an event of its channel. */
void backlog_probe_on_event(struct backlog_probe *, const struct amqp_event *, mtime now);
/* The queue exists: return to the usual interval if it was missing. */
void backlog_probe_hint(struct backlog_probe *, mtime now);

/* Ask for the type, at the next tick that finds no open request, and then for the durability. */
void backlog_probe_ask_type(struct backlog_probe *, mtime now);
/* True: that request is not answered. It is when there is no connection, and then unknown. */
bool backlog_probe_is_asking_type(const struct backlog_probe *);
/* The durability is asked for, and the broker has not answered. */
bool backlog_probe_awaits_durability(const struct backlog_probe *);

/* When to call backlog_probe_tick; MTIME_NEVER: it has nothing to do. */
mtime backlog_probe_deadline(const struct backlog_probe *);
void backlog_probe_tick(struct backlog_probe *, mtime now);

#endif
