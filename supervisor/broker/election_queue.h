/* A queue by which supervisors elect one of them: it has a single active consumer. Layer: broker,
 * without I/O. It is declared before it is consumed; where the broker does not allow that, we only
 * check that it is there. After each close its channel is opened again, after a growing wait. The
 * owner has the states, and all else that the channel does. */
#ifndef BROKER_ELECTION_QUEUE_H
#define BROKER_ELECTION_QUEUE_H

#include "amqp/channel.h"
#include "base/backoff.h"
#include "broker/channel_log.h"

struct election_queue {
	const struct channel_log *log; /* borrowed */
	struct text name;              /* borrowed */
	const char *without;           /* static: what follows if there is no such queue */
	const char *page;              /* static: the page that says how to declare it */
	struct amqp_argument own;      /* besides the type and the single active consumer */

	struct connection *connection; /* borrowed; NULL: offline */
	uint16_t channel;
	bool is_passive;      /* the broker does not let us declare it */
	uint16_t logged_code; /* the code that was last logged as a warning; 0: none since it worked
			       */
	struct backoff backoff;
	mtime retry_at; /* when to open the channel; MTIME_NEVER: no wait */
};

/* Begin offline, with the fields of the first group as they are. seed: of the jitter. */
void election_queue_init(struct election_queue *, uint32_t seed);
/* Open the channel. */
void election_queue_open(struct election_queue *);
/* Declare the queue, or check that it is there. */
void election_queue_declare(const struct election_queue *);
/* The same without a life of its own. own: see struct election_queue. */
void election_queue_declare_on(struct connection *, uint16_t channel, struct text name,
	const struct amqp_argument *own, bool is_passive);
/* The broker closed the channel. True: open it again now, and then check that the queue is there.
 * False: the reason is logged, and the owner waits (election_queue_wait). */
bool election_queue_on_closed(
	struct election_queue *, const struct amqp_event *, bool is_declaring) MUST_CHECK;
/* The broker cancelled the consumer: log it, and close the channel. */
void election_queue_on_cancelled(struct election_queue *);
/* Set retry_at. */
void election_queue_wait(struct election_queue *, mtime now);
/* All that the owner needs works: the next failure is logged, and the wait after it is short. */
void election_queue_works(struct election_queue *);

#endif
