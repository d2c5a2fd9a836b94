/* Where a message goes, with which headers and properties: for the messages that a user publishes,
 * by `wpool publish`, `wpool request` or POST /v1/publish. Layer: broker, without I/O. */
#ifndef BROKER_ENVELOPE_H
#define BROKER_ENVELOPE_H

#include "amqp/channel.h"
#include "amqp/properties.h"
#include "message/key_source.h"

/* X(id, name in the API, property or PROPERTY_COUNT). The name as an option has dashes. */
#define ENVELOPE_FIELDS(X)                                                                         \
	X(QUEUE, "queue", PROPERTY_COUNT)                                                          \
	X(EXCHANGE, "exchange", PROPERTY_COUNT)                                                    \
	X(ROUTING_KEY, "routing_key", PROPERTY_COUNT)                                              \
	X(REPLY_TO, "reply_to", PROPERTY_REPLY_TO)                                                 \
	X(CORRELATION_ID, "correlation_id", PROPERTY_CORRELATION_ID)                               \
	X(TYPE, "type", PROPERTY_TYPE)                                                             \
	X(CONTENT_TYPE, "content_type", PROPERTY_CONTENT_TYPE)                                     \
	X(MESSAGE_ID, "message_id", PROPERTY_MESSAGE_ID)

enum envelope_field {
#define X(id, name, property) ENVELOPE_##id,
	ENVELOPE_FIELDS(X)
#undef X
		ENVELOPE_FIELD_COUNT
};

extern const char *const envelope_field_names[ENVELOPE_FIELD_COUNT];

/* The broker's limit of an expiration. */
#define ENVELOPE_EXPIRATION_MAX_MS 4294967295

struct envelope {
	/* Borrowed, at most 255 bytes each; TEXT_NONE: not set. */
	struct text field[ENVELOPE_FIELD_COUNT];
	struct key_source session_key;
	struct text session; /* the key, borrowed; empty: none */
	bool is_high;        /* for the high lane of its session */
	bool has_priority, has_expiration;
	uint8_t priority;
	int64_t expiration_ms;
	int64_t delay_ms;   /* it begins so long after it is published (NotBefore); 0: at once */
	int64_t now_ms;     /* with a delay: the wall clock, set before each publish */
	struct buf headers; /* table entries */
	struct buf raw;     /* the properties that envelope_publish made last */
};

void envelope_init(struct envelope *);
void envelope_release(struct envelope *);
/* Set a field, which is borrowed until envelope_release. NULL, or what is wrong with it, to stand
 * behind the quoted value; so in the functions below. */
const char *envelope_set(struct envelope *, enum envelope_field, struct text) MUST_CHECK;
/* Set the priority from a number of 0 to 255. */
const char *envelope_set_priority(struct envelope *, struct text) MUST_CHECK;
const char *envelope_set_expiration(struct envelope *, int64_t ms) MUST_CHECK;
const char *envelope_set_delay(struct envelope *, int64_t ms) MUST_CHECK;
/* Add a header from "KEY=VALUE", the value as a string. Of two with one name it would depend on the
 * reader which one counts: the second one is refused, or with replace takes the place of the first.
 */
const char *envelope_add_header(struct envelope *, struct text assignment) MUST_CHECK;
const char *envelope_replace_header(struct envelope *, struct text assignment) MUST_CHECK;
/* Set where the key of a session goes, as in a pool's session.key; the default is header:session.
 * place is borrowed until envelope_release. */
const char *envelope_set_session_key(struct envelope *, const char *place) MUST_CHECK;
/* Set the key of the next messages; it is borrowed until they are published. */
const char *envelope_set_session(struct envelope *, struct text key) MUST_CHECK;
/* What is wrong with all of it together; NULL: nothing. */
const char *envelope_problem(const struct envelope *);
/* RC_OK: the properties of every message fit into one frame of this connection. RC_LIMIT,
 * RC_MEMORY. */
enum rc envelope_check(struct envelope *, const struct connection *) MUST_CHECK;
/* Publish on a channel, mandatory and persistent. message_id: at most 255 bytes, used where the
 * envelope has none. number: of the publish on its channel; 0: none. False: out of memory, nothing
 * was published. */
bool envelope_publish(struct envelope *, struct connection *, uint16_t channel,
	struct text message_id, uint64_t number, struct text body) MUST_CHECK;

#endif
