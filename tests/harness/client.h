/* An AMQP client that shares no code with the program under test: librabbitmq's blocking API.
 * Publishes are mandatory, and confirmed before the call returns. Errors fail the test with the
 * reason; every wait has a deadline. */
#ifndef HARNESS_CLIENT_H
#define HARNESS_CLIENT_H

#include <amqp.h>
#include <stdbool.h>
#include <stddef.h>

struct client;

struct client *client_open(const char *url);
/* NULL is allowed. */
void client_free(struct client *);

enum client_queue { CLIENT_QUORUM, CLIENT_CLASSIC };
void client_declare(struct client *, const char *queue, enum client_queue);
/* A quorum queue with this x-delivery-limit. */
void client_declare_limited(struct client *, const char *queue, int32_t limit);
void client_delete(struct client *, const char *queue);
void client_bind(struct client *, const char *queue, const char *exchange, const char *routing_key);
void client_purge(struct client *, const char *queue);
/* The number of ready messages (not delivered to a consumer); -1: no such queue. */
long client_ready(struct client *, const char *queue);
long client_consumers(struct client *, const char *queue);
/* Poll until the queue has this many ready messages, or fail at the deadline. */
void client_expect_ready(struct client *, const char *queue, long count);
void client_expect_consumers(struct client *, const char *queue, long count);

#define LETTER_HEADERS 8

/* A message to publish; NULL fields are not set. Headers are long strings. */
struct letter {
	const char *body;
	const char *reply_to, *correlation_id, *message_id;
	struct {
		const char *name, *value;
	} headers[LETTER_HEADERS];
};

/* The texts are borrowed. */
void letter_add_header(struct letter *, const char *name, const char *value);

/* properties: NULL: only persistence. */
void client_publish(struct client *, const char *queue, const void *body, size_t size,
	const amqp_basic_properties_t *properties);
void client_post(struct client *, const char *queue, const struct letter *);
/* Publish many without waiting for each confirm; all are confirmed when this returns. A nacked
 * one is published again on another channel, because a channel that met a queue without a leader
 * may nack for ever. nacks[i], if not NULL, counts the nacks of letters[i]: each may have left a
 * copy. */
void client_post_all(struct client *, const char *queue, const struct letter letters[],
	size_t count, unsigned nacks[]);
/* A letter with only a body. */
void client_send(struct client *, const char *queue, const char *text);

struct message {
	char *body; /* NUL-terminated after size */
	size_t size;
	bool is_redelivered;
	amqp_basic_properties_t properties; /* borrowed until message_free */
	amqp_envelope_t envelope;
};
void message_free(struct message *);
/* The header of that name, or NULL. */
const amqp_field_value_t *message_header(const struct message *, const char *name);
/* A header's integer, of any width; fails the test if it is not an integer. */
int64_t message_header_number(const struct message *, const char *name);
/* True if there is a header of that name with that text. */
bool message_header_is(const struct message *, const char *name, const char *text);
bool message_text_is(amqp_bytes_t, const char *text);

/* Take the next message off the queue, or fail at the deadline. */
struct message *client_take(struct client *, const char *queue);
/* The same; its body must be this text. */
void client_expect(struct client *, const char *queue, const char *text);
/* Take the next `count` messages off the queue, quickly; each is borrowed for the call. */
void client_drain(struct client *, const char *queue, long count,
	void each(void *context, const struct message *), void *context);

/* Call by direct reply-to and return the reply. The letter's reply_to is ignored. */
struct message *client_call(struct client *, const char *queue, const struct letter *);

#endif
