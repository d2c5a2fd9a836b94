/* What a configuration asks of a pool's queue beside what wpool itself needs: arguments and
 * bindings. Layer: broker, without I/O. */
#ifndef BROKER_QUEUE_QUEUE_SETTINGS_H
#define BROKER_QUEUE_QUEUE_SETTINGS_H

#include "base/buf.h"
#include "broker/queue/queue_probe.h"

/* Borrowed lists of texts, NULL-terminated, or NULL; check-config has checked them. */
struct queue_settings {
	char *const *arguments; /* "NAME=VALUE" */
	char *const *bindings;  /* config/value/binding.h */
};

/* How many arguments there may be beside those of wpool. */
#define QUEUE_SETTINGS_ARGUMENTS_MAX 12

#define QUEUE_BINDING_SIZE 1024

struct queue_binding {
	struct text exchange, type, routing_key; /* type empty: the exchange exists */
	struct amqp_argument headers[AMQP_ARGUMENTS_MAX];
	size_t header_count;
	char space[QUEUE_BINDING_SIZE]; /* of the texts */
};

/* Read "NAME=VALUE". A whole number is a number, true and false are booleans, but a name, as of an
 * exchange, is always a text. False: too long. */
bool queue_settings_read_argument(const char *pair, struct probe_argument *ret) MUST_CHECK;
/* Add the arguments to those of the next declare. */
void queue_settings_add(const struct queue_settings *, struct queue_probe *);
/* Append "x-max-length is 10, not 5; ..." for each argument that the queue has another value of,
 * after the probe was accepted. */
void queue_settings_append_differences(
	const struct queue_settings *, const struct queue_probe *, struct buf *out);
/* Read binding i. False: there is none. */
bool queue_settings_binding(const struct queue_settings *, size_t i, struct queue_binding *ret);

#endif
