/* Shared by the files of the tests' client; private to them. */
#ifndef HARNESS_CLIENT_INTERNAL_H
#define HARNESS_CLIENT_INTERNAL_H

#include "harness/client.h"
#include "harness/deadline.h"

#include <stdint.h>
#include <sys/time.h>

#define CLIENT_AT_ONCE 500 /* at most so many publishes or deliveries in flight */
/* Long enough for a supervisor that retries every few seconds, on a busy machine. */
#define CLIENT_LIMIT_MS (3 * DEADLINE_DEFAULT_MS)

/* Two connections, so that a delivery never comes between a publish and its confirm. */
struct client {
	amqp_connection_state_t publisher;
	amqp_connection_state_t consumer;
	uint64_t published; /* the last delivery tag of the publisher's channel */
};

static inline struct timeval client_timeval(int ms)
{
	return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

/* Fail the test unless it is a normal reply. */
void client_must(amqp_rpc_reply_t, const char *what);
void client_open_channel(amqp_connection_state_t, amqp_channel_t);
/* The publisher's, with confirms. */
void client_open_publishing_channel(struct client *);
/* entries: LETTER_HEADERS of them, in use as long as the properties. */
amqp_basic_properties_t client_letter_properties(
	const struct letter *, amqp_table_entry_t *entries);

#endif
