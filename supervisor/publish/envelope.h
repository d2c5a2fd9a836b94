/* The headers and properties of a message that a command publishes. Layer: publish. */
#ifndef PUBLISH_ENVELOPE_H
#define PUBLISH_ENVELOPE_H

#include "amqp/channel.h"
#include "amqp/properties.h"
#include "message/session_key.h"

struct envelope {
	struct text queue; /* borrowed, like the two below; at most 255 bytes each */
	const char *reply_to;
	const char *correlation_id;
	struct key_source session_key;
	struct text session; /* the key, borrowed; empty: none */
	bool is_high;        /* for the high lane of its session */
	struct buf headers;  /* table entries */
	struct buf raw;      /* the properties that envelope_publish made last */
};

#define ENVELOPE_ID_SIZE 17

/* Make an id that no other run of a command has made: random, or if that would wait, from the
 * clock. */
void envelope_make_id(char ret_id[ENVELOPE_ID_SIZE]);

void envelope_init(struct envelope *);
void envelope_release(struct envelope *);
/* Add a header from "KEY=VALUE", the value as a string. NULL, or what is wrong with it. */
const char *envelope_add_header(struct envelope *, const char *assignment) MUST_CHECK;
/* Set where the key of a session goes, as in a pool's session.key; the default is header:session.
 * NULL, or what is wrong with it. place is borrowed until envelope_release. */
const char *envelope_set_session_key(struct envelope *, const char *place) MUST_CHECK;
/* Set the key of the next messages; it is borrowed until they are published. NULL, or what is wrong
 * with it. */
const char *envelope_set_session(struct envelope *, struct text key) MUST_CHECK;
/* What is wrong with queue, reply_to or correlation_id; NULL: nothing. */
const char *envelope_problem(const struct envelope *);
/* RC_OK: the properties of every message fit into one frame of this connection. RC_LIMIT,
 * RC_MEMORY. */
enum rc envelope_check(struct envelope *, const struct connection *) MUST_CHECK;
/* Publish on channel 1 to the queue, mandatory and persistent. message_id: at most 255 bytes.
 * number: of the publish on its channel; 0: none. False: out of memory, nothing was published. */
bool envelope_publish(struct envelope *, struct connection *, struct text message_id,
	uint64_t number, struct text body) MUST_CHECK;

#define ENVELOPE_CHANNEL 1

#endif
