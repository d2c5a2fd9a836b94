/* One dead letter as it is in its queue, and whether the conditions select it. Layer: dead_letters,
 * without I/O. */
#ifndef DEAD_LETTERS_LETTER_H
#define DEAD_LETTERS_LETTER_H

#include "amqp/connection.h"
#include "amqp/properties.h"

#include <inttypes.h>

struct dead_letter {
	uint64_t position; /* in its queue when that was read, from 1 */
	uint64_t tag;
	bool is_redelivered;
	bool is_unreadable; /* its headers or all its properties: they are empty here */
	struct text exchange, routing_key;
	struct properties properties;
	struct text headers;    /* a table that table_check found good */
	struct text unreadable; /* all raw properties if they cannot be parsed; else empty */
	struct text body;
};

/* Borrow all texts from the event. */
void dead_letter_read(struct dead_letter *, const struct amqp_event *delivery, uint64_t position);
/* Append a header as text, strings repaired to UTF-8. False: it has no header of that name. */
bool dead_letter_header(const struct dead_letter *, struct text name, struct buf *out);
/* Append "message 3 (message_id m-3)", escaped for a terminal. */
void dead_letter_name(const struct dead_letter *, struct buf *out);

/* The headers in which a queue counts how often a message was handed back. */
#define DEAD_LETTER_COUNTERS 2
extern const struct text dead_letter_counters[DEAD_LETTER_COUNTERS];
bool dead_letter_is_counter(struct text name);

/* "message_id"; NULL for the headers. */
const char *property_name(enum property);
/* Append a property that is present: numbers as digits, strings as they are. */
void property_append(const struct properties *, enum property, struct buf *out);
static inline bool property_is_number(enum property property)
{
	return property == PROPERTY_DELIVERY_MODE || property == PROPERTY_PRIORITY ||
	       property == PROPERTY_TIMESTAMP;
}

#define MATCHES_MAX 32

/* Conditions; all of them must match. */
struct matches {
	struct text fingerprint; /* borrowed; TEXT_NONE: none */
	size_t count;            /* of the others */
	struct {
		struct text name, value; /* borrowed */
	} of[MATCHES_MAX];
};

static inline bool matches_are_any(const struct matches *matches)
{
	return matches->count > 0 || matches->fingerprint.ptr;
}

/* "NAME=VALUE": a header and its text, or message_id or correlation_id for the name. NULL, or what
 * is wrong with it. */
const char *matches_add(struct matches *, const char *condition) MUST_CHECK;
/* Set the bit of each condition whose header the message has. */
void matches_mark_seen(const struct matches *, const struct dead_letter *, uint32_t *seen);
/* Print on stderr which conditions name a header that no message has: probably a typing error. */
void matches_print_unseen(const struct matches *, uint32_t seen);
enum match { MATCH_NO, MATCH_YES, MATCH_MEMORY };
enum match matches_meet(const struct matches *, const struct dead_letter *) MUST_CHECK;

#endif
