/* The inside of a consumer, for its own files only. Layer: broker.
 * consumer.c has its life, consumer_facts.c what is seen of it. */
#ifndef BROKER_CONSUMER_STATE_H
#define BROKER_CONSUMER_STATE_H

#include "broker/consumer.h"
#include "broker/patience.h"
#include "broker/subscriptions.h"

#define CONSUMER_STATES(X)                                                                         \
	X(OFFLINE) /* no connection */                                                             \
	X(WAITING) /* until retry_at; the channel may be open or not */                            \
	X(OPENING)                                                                                 \
	X(DECLARING)                                                                               \
	X(AT_REST)    /* all is declared, no answer is awaited */                                  \
	X(STARTING)   /* basic.consume is sent */                                                  \
	X(CANCELLING) /* basic.cancel is sent */                                                   \
	X(BARRIER)    /* synchronous commands: what was sent before them has arrived */            \
	X(CLOSING)                                                                                 \
	X(ENDED) /* closed as wished; nothing starts it again */

enum consumer_state {
#define X(state) state,
	CONSUMER_STATES(X)
#undef X
};

struct consumer {
	const struct consumer_config *config; /* borrowed */
	const struct notes *notes;            /* borrowed */
	struct pool *pool;                    /* borrowed */
	struct connection *connection;        /* borrowed, NULL: offline */
	enum consumer_state state;
	enum source_wish wish;
	uint16_t wished_window;
	struct subscriptions subscriptions;
	uint32_t epoch;
	bool told_up; /* the pool knows of this epoch */
	bool settled; /* something for good, in this epoch */
	bool lost;    /* the broker cancelled a subscription: look at the queue first */
	struct topology topology;
	struct patience patience;
	mtime retry_at; /* MTIME_NEVER: no wait */
};

#endif
