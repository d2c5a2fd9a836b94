/* A queue by which supervisors elect one of them: it has a single active consumer. Layer: broker,
 * without I/O. It is declared before it is consumed; where the broker does not allow that, we only
 * check that it is there. After each close its channel is opened again, after a growing wait. The
 * owner consumes it, and does all else on the channel. */
#ifndef BROKER_ELECTION_QUEUE_H
#define BROKER_ELECTION_QUEUE_H

#include "amqp/channel.h"
#include "base/backoff.h"
#include "broker/channel_log.h"

enum election_step {
	ELECTION_RESTS, /* offline or declared, waits for retry_at, or the owner declares it next */
	ELECTION_OPENS,
	ELECTION_DECLARES,
};

/* What the owner does next. */
enum election_result {
	ELECTION_NOTHING,
	ELECTION_OPENED,   /* election_queue_declare, now or when something else is answered */
	ELECTION_DECLARED, /* consume it */
	ELECTION_LOST,     /* nothing: it is not consumed any more, and opened again later */
};

struct election_queue {
	const struct channel_log *log; /* borrowed */
	struct text name;              /* borrowed */
	const char *without;           /* static: what follows if there is no such queue */
	const char *page;              /* static: the page that says how to declare it */
	struct amqp_argument own;      /* besides the type and the single active consumer */

	struct connection *connection; /* borrowed; NULL: offline */
	uint16_t channel;
	enum election_step step;
	bool is_passive;      /* the broker does not let us declare it */
	uint16_t logged_code; /* the code that was last logged as a warning; 0: none since it worked
			       */
	struct backoff backoff;
	mtime retry_at; /* when to open the channel; MTIME_NEVER: no wait */
};

/* Begin offline, with the fields of the first group as they are. seed: of the jitter. */
void election_queue_init(struct election_queue *, uint32_t seed);
/* Open the channel, on a connection that is set. */
void election_queue_open(struct election_queue *);
/* The connection is gone, or the owner has ended. */
void election_queue_rest(struct election_queue *);
/* Declare the queue, or check that it is there. */
void election_queue_declare(struct election_queue *);
/* The same without a life of its own. own: see struct election_queue. */
void election_queue_declare_on(struct connection *, uint16_t channel, struct text name,
	const struct amqp_argument *own, bool is_passive);
/* Handle an event of the channel. ELECTION_NOTHING also for those that only the owner understands.
 */
enum election_result election_queue_on_event(
	struct election_queue *, const struct amqp_event *, mtime now) MUST_CHECK;
/* Call at retry_at. */
void election_queue_tick(struct election_queue *, mtime now);
/* All that the owner needs works: the next failure is logged, and the wait after it is short. */
void election_queue_works(struct election_queue *);

#endif
