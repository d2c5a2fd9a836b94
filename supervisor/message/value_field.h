/* MessagePack values as AMQP fields, for the headers that a worker sends. Layer: message.
 * Reads bytes that wire_check found good; implements the types of reply headers of PROTOCOL.md,
 * section 6. */
#ifndef MESSAGE_VALUE_FIELD_H
#define MESSAGE_VALUE_FIELD_H

#include "base/buf.h"
#include "wire/value.h"

struct value_reader {
	const uint8_t *at, *end; /* the next value begins at at */
	struct buf *out;         /* borrowed; its limit is memory's, not the table's */
	size_t room;             /* most bytes that may stand in out */
	bool unfit; /* a value that AMQP has no form for, or over room; out is void then */
};

/* The next value's text, str or bin. False, and the value is skipped: another type. */
bool value_take_text(struct value_reader *, struct text *ret);
/* Appends the next value as a field with this key. Arrays and tables down to the eighth level, the
 * header table being the first, stay what they are; what is deeper becomes JSON text. */
void value_put_field(struct value_reader *, struct text key);

#endif
