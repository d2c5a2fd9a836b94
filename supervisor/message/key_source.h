/* Where the keys of a message are, and reading them from a delivery: the key of its session
 * (session.key), and one for each throttle of its pool (key of a throttle). Layer: message. An
 * integer counts as its decimal digits. */
#ifndef MESSAGE_KEY_SOURCE_H
#define MESSAGE_KEY_SOURCE_H

#include "amqp/properties.h"
#include "core/tasks/delivery.h"

struct key_source {
	enum {
		KEY_NONE, /* the pool has no sessions; the throttle has one limit for all */
		KEY_HEADER,
		KEY_PROPERTY,
		KEY_ROUTING_KEY,
		KEY_SESSION, /* of a throttle: the key of the message's session */
	} kind;
	struct text header;     /* KEY_HEADER: its name; borrowed */
	enum property property; /* KEY_PROPERTY: one that is text */
	bool is_required;       /* of a session: a message without a key is invalid */
};

/* Parse the value of session.key: "header:NAME", "property:NAME" or "routing_key". *ret_source
 * borrows the name, and is_required is false. NULL: it is valid; else why not, a static text to
 * stand behind the value. */
const char *key_source_parse(struct text value, struct key_source *ret_source) MUST_CHECK;
/* The same for the key of a throttle, which may also be "session". */
const char *key_source_parse_throttle(struct text value, struct key_source *ret_source) MUST_CHECK;

/* ---------- of a session ---------- */

/* A key is UTF-8 of 1 to 255 bytes. Messages with the same key run one at a time and in order. */
#define SESSION_KEY_MAX 255 /* bytes */

/* The bytes at the end of a delivery's memory that session_key_read needs. */
size_t session_key_space(const struct key_source *);
/* Set key, key_at and is_high of a delivery whose headers and routing_key are set. A key that
 * cannot be used makes the delivery invalid, unless it is so already. The last session_key_space
 * bytes of delivery->bytes are free for the key's digits. */
void session_key_read(struct delivery *, const struct properties *, const struct key_source *);

/* ---------- of throttles ---------- */

/* The throttles of a pool, in their order. */
struct throttle_keys {
	uint32_t count; /* 0 to PASSES_MAX */
	struct {
		const struct throttle *throttle; /* borrowed */
		struct key_source source;
	} of[PASSES_MAX];
};

/* True: one of the keys is the routing key. */
bool throttle_keys_have_route(const struct throttle_keys *);
/* Set throttle_keys of a delivery whose headers, routing_key and session's key are set: the number
 * of its key for each throttle. A key that is missing, empty, or neither text nor an integer counts
 * as THROTTLE_NO_KEY. A text may have any bytes and any length. */
void throttle_keys_read(struct delivery *, const struct properties *, const struct throttle_keys *);

#endif
