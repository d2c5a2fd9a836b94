/* Which queues a pool needs, and how they are declared: its own, the one for dead letters, and one
 * for each delay after which it tries again. Layer: broker.
 * Step by step on the consuming channel: look first (a passive declare changes nothing and needs no
 * right), make only what is missing. Every 404 closes the channel, so what was found missing is
 * kept here for the next one. Queues of ours are durable quorum queues without a delivery limit:
 * the limit of 20 that RabbitMQ 4 sets by default would drop tasks that were only handed back. A
 * retry queue besides lets its messages expire back into the pool's queue, at least once, and
 * refuses what it cannot take; it never expires itself, because its messages would go with it. */
#ifndef BROKER_TOPOLOGY_H
#define BROKER_TOPOLOGY_H

#include "amqp/channel.h"
#include "broker/notes.h"
#include "core/retry.h"
#include "message/retry_queue.h"

enum declare { DECLARE_OFF, DECLARE_PASSIVE, DECLARE_ON };

/* After which delays a pool tries again. */
struct retry_plan {
	mtime delays[RETRY_DELAYS_MAX]; /* whole milliseconds; RetryAfterMilliseconds has others */
	size_t count;
	unsigned jitter; /* percent that a wait may be longer */
};

/* What is known of a queue. */
enum topology_sight {
	TOPOLOGY_UNSEEN,
	TOPOLOGY_THERE,   /* found; by whom it was declared, and how, nobody tells */
	TOPOLOGY_MISSING, /* and ours to make on the next channel */
	TOPOLOGY_MADE,    /* here, and not seen missing since */
};

/* The queues to see to, one after the other. */
enum topology_step {
	TOPOLOGY_QUEUE,       /* the one that is consumed */
	TOPOLOGY_DEAD_LETTER, /* where given-up tasks go */
	TOPOLOGY_RETRY,       /* the first of the retry queues; the others have the next numbers */
	TOPOLOGY_MOST = TOPOLOGY_RETRY + RETRY_DELAYS_MAX
};

struct topology {
	struct text queue, dead_letter; /* dead_letter empty: none of ours */
	const struct retry_plan *retry; /* borrowed */
	enum declare declare;           /* concerns queue; our own are always made when missing */
	unsigned step;                  /* an enum topology_step; behind the last one: done */
	enum topology_sight sights[TOPOLOGY_MOST];
	bool is_promise_told;                /* what sights come to */
	bool in_use;                         /* as topology_begin was told */
	uint16_t complained;                 /* the code already told at full volume */
	char name[RETRY_QUEUE_NAME_MAX + 1]; /* of the retry queue in hand */
};

void topology_init(struct topology *, struct text queue, struct text dead_letter, enum declare,
	const struct retry_plan *);
/* basic.consume was answered: the next trouble is told at full volume again; and once what the
 * queues let us promise (broker/promise.h). */
void topology_proved(struct topology *, const struct notes *);
/* queue.declare of a queue that is ours to make and is known to be missing. */
void topology_make(struct connection *, uint16_t channel, struct text queue);
/* The same for the retry queue of that name: of queue, at most 255 bytes, with this delay. */
void topology_make_retry(struct connection *, uint16_t channel, struct text name, struct text queue,
	mtime delay, unsigned jitter);
/* What the jitter adds to a delay at most. */
mtime topology_jitter(mtime delay, unsigned jitter);
/* Sends the first declare; true: there is nothing to declare. in_use: deliveries of this channel
 * are being worked on; then only the queue is looked at, because a look that fails costs the
 * channel. */
bool topology_begin(struct topology *, struct connection *, uint16_t channel, bool in_use);
/* AMQP_QUEUE_DECLARED came: sends the next one; true: all is there. */
bool topology_next(struct topology *, struct connection *, uint16_t channel);
/* The broker closed the channel; says why in notes. True: something is missing that is ours to
 * make, and the next channel, opened without a wait, will make it. */
bool topology_closed(struct topology *, uint16_t code, struct text words, const struct notes *);

#endif
