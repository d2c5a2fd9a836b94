/* The log line about a pool's queues when it begins to consume: whether they keep what
 * docs/reliability.md promises, as far as that is known. Layer: broker, pure.
 * Known are the queues that were declared here: durable quorum queues without a delivery limit. Of
 * a queue that existed already a client learns its name and two counts, never its type or a policy.
 */
#ifndef BROKER_DURABILITY_NOTE_H
#define BROKER_DURABILITY_NOTE_H

#include "base/buf.h"
#include "base/log.h"

/* Bytes of the text at most, with two names of 255. */
#define DURABILITY_NOTE_MAX 767

/* What is known. "Made": declared here. */
struct durability_note {
	struct text queue, dead_letter; /* dead_letter empty: left to the queue's own policy */
	bool is_queue_made, is_dead_letter_made;
	unsigned retry_queues; /* those that existed already */
};

/* Append the text, and return its log level. No text: all queues were made here and keep the
 * promise. */
enum log_level durability_note_append(const struct durability_note *, struct buf *out);

#endif
