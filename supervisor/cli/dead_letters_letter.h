/* One dead letter as it lies in its queue, and whether it is meant. Layer: cli. Without I/O. */
#ifndef CLI_DEAD_LETTERS_LETTER_H
#define CLI_DEAD_LETTERS_LETTER_H

#include "amqp/connection.h"
#include "amqp/properties.h"

struct dead_letter {
	uint64_t position; /* in its queue when that was looked at, from 1 */
	uint64_t tag;
	bool is_redelivered;
	bool is_unreadable; /* its headers or all its properties: they are empty here */
	struct text exchange, routing_key;
	struct properties properties;
	struct text headers; /* a table that table_check found good */
	struct text body;
};

/* Borrows all its texts from the event. */
void dead_letter_read(struct dead_letter *, const struct amqp_event *delivery, uint64_t position);
/* A header as text, strings repaired to UTF-8. False: it has none of that name. */
bool dead_letter_header(const struct dead_letter *, struct text name, struct buf *out);
/* "message 3 (message_id m-3)": by what an operator may know it; harmless for a terminal. */
void dead_letter_name(const struct dead_letter *, struct buf *out);

/* "message_id"; NULL for the headers. */
const char *property_name(enum property);
/* One that is there, as text: numbers as digits, strings as they are. */
void property_append(const struct properties *, enum property, struct buf *out);
static inline bool property_is_number(enum property property)
{
	return property == PROPERTY_DELIVERY_MODE || property == PROPERTY_PRIORITY ||
	       property == PROPERTY_TIMESTAMP;
}

#define MATCHES_MAX 32

/* All of these must hold. */
struct matches {
	size_t count;
	struct {
		struct text name, value; /* borrowed */
	} of[MATCHES_MAX];
};

/* "NAME=VALUE": a header and its text, or the words message_id and correlation_id. NULL, or what is
 * wrong with it. */
const char *matches_add(struct matches *, const char *condition) MUST_CHECK;
/* Sets the bit of each condition whose header the message has. Without those, nothing can match. */
void matches_note(const struct matches *, const struct dead_letter *, uint32_t *seen);
/* Says on stderr of the others that no message has their header: a slip of the pen, most likely. */
void matches_say_unseen(const struct matches *, uint32_t seen);
enum match { MATCH_NO, MATCH_YES, MATCH_MEMORY };
enum match matches_meet(const struct matches *, const struct dead_letter *) MUST_CHECK;

#endif
