/* What is said of a pool's queues when it begins to consume: whether they keep what is promised
 * (docs/reliability.md), as far as that is known. Layer: broker, pure.
 * Known is what was declared here: durable quorum queues without a limit. Of a queue that was there
 * already a client is told its name and two counts, never its type or a policy. */
#ifndef BROKER_PROMISE_H
#define BROKER_PROMISE_H

#include "base/buf.h"
#include "base/log.h"

/* Bytes of its words at most, with two names of 255. */
#define PROMISE_WORDS_MAX 767

/* What there is to judge by. "Made": declared here. */
struct promise {
	struct text queue, dead_letter; /* dead_letter empty: left to the queue's own policy */
	bool is_queue_made, is_dead_letter_made;
	unsigned retry_queues; /* those that were there already */
};

/* Adds the words, and returns how loud they are. None: there is nothing to be said, because all
 * that the pool has was made here and keeps the promise. */
enum log_level promise_add_words(const struct promise *, struct buf *out);

#endif
