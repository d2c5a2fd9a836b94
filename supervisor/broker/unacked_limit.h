/* What a channel may have unacked. Layer: broker, pure. RabbitMQ keeps to the windows that were
 * granted; another peer at that address may not, and what it delivers takes our memory. The one
 * exception: when another node takes over a mirrored classic queue (3.x), all that is unacked is
 * delivered once more on the same channel, and the earlier ones can no longer be acked. A new
 * channel is the best answer to that, too. */
#ifndef BROKER_UNACKED_LIMIT_H
#define BROKER_UNACKED_LIMIT_H

#include "core/pool_config.h"
#include "core/pool_facts.h"

/* Deliveries above the windows: RabbitMQ 3.10 may grant one more for a message that is over its
 * delivery limit. */
#define UNACKED_SLACK 16
/* What ended consumers can have left: a window and a half of the largest (core/tasks/pace.c). */
#define UNACKED_DEPARTED_MAX (2 * POOL_WINDOW_MAX)

struct unacked_limit {
	bool has_departed;     /* a consumer has ended and may have left deliveries unacked */
	uint32_t departed;     /* how many at most */
	uint64_t departed_tag; /* the last delivery before the latest of them ended */
	size_t memory;         /* the pool's in force: a lower one counts when what came to the
				  consumers before is settled */
	size_t next_memory;    /* the pool's when the latest of them ended */
};

enum unacked_verdict {
	UNACKED_FITS,
	UNACKED_TOO_MANY,  /* more than was asked for */
	UNACKED_TOO_LARGE, /* bodies became large before the window was narrower, or as above */
};

/* A new channel begins. */
void unacked_limit_clear(struct unacked_limit *);
/* A consumer with this window has ended. Its unacked deliveries stay with the channel and count in
 * no window. */
void unacked_limit_departed(struct unacked_limit *, uint32_t window, const struct pool_unacked *);
/* Compare what is unacked, the latest delivery included, with the limits. In number: window (of all
 * live consumers), what ended consumers left, and UNACKED_SLACK. In bytes: twice the pool's
 * `memory`, and one body of body_limit bytes. A single delivery always fits. */
enum unacked_verdict unacked_limit_check(struct unacked_limit *, uint32_t window,
	uint64_t body_limit, const struct pool_unacked *) MUST_CHECK;

#endif
