/* Which fields of a header table a worker gets. Of fields whose keys are equal after invalid UTF-8
 * is repaired, only the last: AMQP peers send tables with a key twice, and strict MessagePack
 * decoders refuse such maps. Layer: message, private to task.c. Allocates nothing; the time is
 * bounded for any keys. */
#ifndef MESSAGE_SHOWN_H
#define MESSAGE_SHOWN_H

#include "amqp/table.h"

struct shown {
	struct text table; /* borrowed */
	size_t count;
	uint32_t places[TABLE_FIELDS_MAX]; /* where each field begins, in the table's order */
};

/* table: accepted by table_check. with_stripped: include the fields of name_is_stripped. */
void shown_find(struct shown *, struct text table, bool with_stripped);
/* i: less than count. */
struct table_field shown_field(const struct shown *, size_t i);

#endif
