/* A broker that speaks AMQP as far as clients need it to get to what it says then: words of the
 * test's choice, any bytes, where a broker explains itself. It runs in processes of its own, which
 * die with the test. Errors fail the test. */
#ifndef HARNESS_RUDE_BROKER_H
#define HARNESS_RUDE_BROKER_H

#include <stddef.h>

enum rude {
	RUDE_REFUSES_LOGIN,   /* connection.close 403 instead of connection.tune */
	RUDE_CLOSES_CHANNELS, /* channel.close 403 for each request in an open channel */
	RUDE_FAILS,           /* connection.close 541 for each request in an open channel */
	RUDE_FAILS_BETWEEN,   /* has all queues, and connection.close 503 for each channel.close */
	RUDE_RETURNS,         /* confirms and consumes, and returns each message with 312 */
	RUDE_BLOCKS,          /* connection.blocked when the connection is open, and nothing more */
	RUDE_ASKS,            /* channel.flow without end in an open channel, and reads no more */
};

struct rude_broker;

/* words: at most 255 bytes; borrowed for the call. */
struct rude_broker *rude_broker_start(enum rude, const char *words, size_t len);
void rude_broker_free(struct rude_broker *);
/* amqp://guest:guest@127.0.0.1:PORT; valid until rude_broker_free. */
const char *rude_broker_url(const struct rude_broker *);

#endif
