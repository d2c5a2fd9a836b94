/* MessagePack values as AMQP fields, for the headers that a worker sends. Layer: message. The bytes
 * were accepted by wire_check. Implements the types of reply headers of PROTOCOL.md, section 6. */
#ifndef MESSAGE_VALUE_FIELD_H
#define MESSAGE_VALUE_FIELD_H

#include "base/buf.h"
#include "wire/value.h"

struct value_reader {
	const uint8_t *at, *end; /* the next value begins at at */
	struct buf *out;         /* borrowed; its own limit is higher than size_max */
	size_t size_max;         /* maximum bytes of out */
	/* A value that AMQP cannot express, or more than size_max; then out is not usable. */
	bool invalid;
};

static inline bool value_is_text(const struct wire_value *value)
{
	return value->type == WIRE_STR || value->type == WIRE_BIN;
}

/* The bytes of a value that is text. */
static inline struct text value_text(const struct wire_value *value)
{
	return text_of(value->bytes.ptr, value->bytes.len);
}

/* Take the next value if it is str or bin. Otherwise skip it and return false. */
bool value_take_text(struct value_reader *, struct text *ret);
/* Append the next value as a field with this key. Arrays and tables keep their type down to the
 * eighth level, the header table being the first; deeper ones become JSON text. */
void value_put_field(struct value_reader *, struct text key);

#endif
