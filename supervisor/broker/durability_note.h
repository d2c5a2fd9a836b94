/* The log line about a pool's queues when it begins to consume: whether they allow the guarantees
 * of docs/reliability.md, as far as that is known. Layer: broker, pure. Queues that were declared
 * here are durable quorum queues without a delivery limit. If a queue existed already, a client can
 * find out its name and two counts, but not its type or a policy. */
#ifndef BROKER_DURABILITY_NOTE_H
#define BROKER_DURABILITY_NOTE_H

#include "base/buf.h"
#include "base/log.h"

/* Maximum bytes of the text, with two names of 255. */
#define DURABILITY_NOTE_MAX 767

/* What is known about the queues. "Made": declared here. */
struct durability_note {
	struct text queue, dead_letter; /* dead_letter empty: left to the queue's own policy */
	bool is_queue_made, is_dead_letter_made;
	unsigned retry_queues; /* those that existed already */
};

/* Append the text, and return its log level. Append nothing if all queues were made here and allow
 * the guarantees. */
enum log_level durability_note_append(const struct durability_note *, struct buf *out);

#endif
