/* Which fields of a header table a worker gets: of those whose keys are equal for a worker (invalid
 * UTF-8 is repaired) only the last. Strict decoders refuse a map that has a key twice, and AMQP
 * peers do send such tables. Layer: message, private to task.c. Allocates nothing; the time is
 * bounded for any keys. */
#ifndef MESSAGE_SHOWN_H
#define MESSAGE_SHOWN_H

#include "amqp/table.h"

struct shown {
	struct text table; /* borrowed */
	size_t count;
	uint32_t places[TABLE_FIELDS_MAX]; /* where each field begins, in the table's order */
};

/* table: one that table_check found good. with_stripped: those of name_is_stripped as well. */
void shown_find(struct shown *, struct text table, bool with_stripped);
/* i: less than count. */
struct table_field shown_field(const struct shown *, size_t i);

#endif
