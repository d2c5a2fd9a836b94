/* The connection on which a pool consumes and acks. Layer: runtime. Each pool has its own: large
 * bodies of one pool would delay the messages of another, and the broker reads a connection's
 * acks one after the other. */
#ifndef RUNTIME_CONSUME_LINK_H
#define RUNTIME_CONSUME_LINK_H

#include "broker/backlog/backlog_probe.h"
#include "broker/backlog/wait_probe.h"
#include "broker/consumer.h"
#include "broker/token_channel.h"
#include "net/broker_link.h"

/* The channel number of the consumer. */
#define CONSUME_CHANNEL 1
/* That of the pool's token; 2, 4 and 5 are those of the probes. */
#define TOKEN_CHANNEL 3

/* The state of a connection, for those who show it. */
struct link_facts {
	bool is_up;
	uint64_t reconnects;
	const char *failure; /* the latest failure, without a password; empty: none. Borrowed */
	const char *failure_kind; /* the same without the broker's text, users and addresses */
};

struct consume_link;

/* Start to connect; NULL: out of memory. shared: everything but the names. What it points to,
 * the pool's name, its queues, the consumer and the token's channel (NULL: none) are borrowed until
 * consume_link_free. dead_letters: the dead-letter queue; empty: none that is known. */
struct consume_link *consume_link_new(struct ev_loop *, const struct broker_link_config *shared,
	const char *pool, struct text queue, struct text dead_letters, struct consumer *,
	struct token_channel *);
void consume_link_free(struct consume_link *);
/* When consume_link_tick must be called; MTIME_NEVER: only after events. */
mtime consume_link_deadline(const struct consume_link *);
/* Request the backlog, and the numbers of dead letters and of messages in wait queues, when they
 * are due; before consume_link_flush. */
void consume_link_tick(struct consume_link *, mtime now);
/* The queue's backlog in the broker; NULL: unknown. */
const struct backlog *consume_link_backlog(const struct consume_link *);
/* The messages in the dead-letter queue; NULL: unknown. */
const struct backlog *consume_link_dead_letters(const struct consume_link *);
/* See wait_probe_hint. */
void consume_link_hint_waits(struct consume_link *, uint32_t steps);
/* What waits in the wait queues; NULL: unknown. */
const struct wait_probe *consume_link_waits(const struct consume_link *);
/* What the broker last reported of it. */
enum queue_type consume_link_queue_type(const struct consume_link *);
enum queue_durability consume_link_queue_durability(const struct consume_link *);
/* Write pending output; once at the end of each turn. */
void consume_link_flush(struct consume_link *);
void consume_link_close(struct consume_link *);
/* After consume_link_close: true when no event will follow. */
bool consume_link_is_closed(const struct consume_link *);
struct link_facts consume_link_facts(const struct consume_link *);

#endif
