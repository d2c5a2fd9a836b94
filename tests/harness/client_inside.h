/* What the files of the tests' client share; nobody else needs it. */
#ifndef HARNESS_CLIENT_INSIDE_H
#define HARNESS_CLIENT_INSIDE_H

#include "harness/client.h"
#include "harness/deadline.h"

#include <stdint.h>
#include <sys/time.h>

#define CLIENT_AT_ONCE 500 /* publishes or deliveries on their way, at most */
/* Long enough for a supervisor that looks for a broker every few seconds, on a busy machine. */
#define CLIENT_LIMIT_MS (3 * DEADLINE_DEFAULT_MS)

/* Two connections, so that a delivery never stands between a publish and its confirm. */
struct client {
	amqp_connection_state_t publisher;
	amqp_connection_state_t consumer;
	uint64_t published; /* the last delivery tag of the publisher's channel */
};

static inline struct timeval client_timeval(int ms)
{
	return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

/* Fails the test for anything but a normal answer. */
void client_must(amqp_rpc_reply_t, const char *what);
void client_open_channel(amqp_connection_state_t, amqp_channel_t);
/* The publisher's, with confirms. */
void client_open_publishing_channel(struct client *);
/* entries: room for LETTER_HEADERS, in use as long as the properties. */
amqp_basic_properties_t client_letter_properties(
	const struct letter *, amqp_table_entry_t *entries);

#endif
