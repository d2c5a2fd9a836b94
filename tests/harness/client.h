/* An AMQP client that shares nothing with the program under test: librabbitmq's blocking API.
 * Publishes are mandatory and confirmed before the call returns. Fails the test, saying why, rather
 * than returning an error; every wait has a deadline. */
#ifndef HARNESS_CLIENT_H
#define HARNESS_CLIENT_H

#include <amqp.h>
#include <stdbool.h>
#include <stddef.h>

struct client;

struct client *client_open(const char *url);
/* NULL is legal. */
void client_free(struct client *);

enum client_queue { CLIENT_QUORUM, CLIENT_CLASSIC };
void client_declare(struct client *, const char *queue, enum client_queue);
void client_delete(struct client *, const char *queue);
void client_purge(struct client *, const char *queue);
/* Messages that are ready (none in the hands of a consumer); -1: no such queue. */
long client_ready(struct client *, const char *queue);
long client_consumers(struct client *, const char *queue);
/* Asks until the queue has this many ready messages, or fails at the deadline. */
void client_expect_ready(struct client *, const char *queue, long count);
void client_expect_consumers(struct client *, const char *queue, long count);

#define LETTER_HEADERS 8

/* A message in a test's words; what is NULL is not set. The headers are long strings. */
struct letter {
	const char *body;
	const char *reply_to, *correlation_id, *message_id;
	struct {
		const char *name, *value;
	} headers[LETTER_HEADERS];
};

/* properties: NULL for none but persistence. */
void client_publish(struct client *, const char *queue, const void *body, size_t size,
	const amqp_basic_properties_t *properties);
void client_post(struct client *, const char *queue, const struct letter *);
/* Many, sent before the first is confirmed; all are when this returns. What is nacked is published
 * again until it is confirmed, by another channel: one that met a queue without a leader may refuse
 * for ever. nacks[i], where not NULL, grows by how often letters[i] was: each of these may have
 * left a copy. */
void client_post_all(struct client *, const char *queue, const struct letter letters[],
	size_t count, unsigned nacks[]);
/* A letter of nothing but a body. */
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
/* A header's integer of whatever width; fails the test where it is none. */
int64_t message_header_number(const struct message *, const char *name);
/* Whether there is a header of that name with that text. */
bool message_header_is(const struct message *, const char *name, const char *text);
bool message_text_is(amqp_bytes_t, const char *text);

/* The next message of the queue, taken off it; fails at the deadline. */
struct message *client_take(struct client *, const char *queue);
/* The same, and its body must be this text. */
void client_expect(struct client *, const char *queue, const char *text);
/* The next `count` messages, taken off it quickly; each is borrowed for the call. */
void client_drain(struct client *, const char *queue, long count,
	void each(void *context, const struct message *), void *context);

/* A call by direct reply-to, answered; the reply. The letter's reply_to is not looked at. */
struct message *client_call(struct client *, const char *queue, const struct letter *);

#endif
