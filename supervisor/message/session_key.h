/* Where the key of a message's session is (the setting session.key), and reading it from a
 * delivery. Layer: message. A key is UTF-8 of 1 to 255 bytes; an integer header counts as its
 * decimal digits. Messages with the same key run one at a time and in order. */
#ifndef MESSAGE_SESSION_KEY_H
#define MESSAGE_SESSION_KEY_H

#include "amqp/properties.h"
#include "core/tasks/delivery.h"

#define SESSION_KEY_MAX 255 /* bytes */

struct key_source {
	enum {
		KEY_NONE, /* the pool has no sessions */
		KEY_HEADER,
		KEY_PROPERTY,
		KEY_ROUTING_KEY,
	} kind;
	struct text header;     /* KEY_HEADER: its name; borrowed */
	enum property property; /* KEY_PROPERTY: one that is text */
	bool is_required;       /* a message without a key is invalid */
};

/* Parse the value of session.key: "header:NAME", "property:NAME" or "routing_key". *ret_source
 * borrows the name, and is_required is false. NULL: it is valid; else why not, a static text to
 * stand behind the value. */
const char *key_source_parse(struct text value, struct key_source *ret_source) MUST_CHECK;
/* The bytes at the end of a delivery's memory that session_key_read needs. */
size_t session_key_space(const struct key_source *);
/* Set key, key_at and is_high of a delivery whose headers and routing_key are set. A key that
 * cannot be used makes the delivery invalid, unless it is so already. The last session_key_space
 * bytes of delivery->bytes are free for the key's digits. */
void session_key_read(struct delivery *, const struct properties *, const struct key_source *);

#endif
