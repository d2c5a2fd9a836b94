/* AMQP field values as text, for workers that know headers only as strings. Layer: message.
 * Fields come out of a table that table_check found good; recursion is bounded by its depth. */
#ifndef MESSAGE_FIELD_TEXT_H
#define MESSAGE_FIELD_TEXT_H

#include "amqp/table.h"

/* The value of a whole number field's octets, as unsigned. */
uint64_t field_bits(const struct table_field *);
/* The value of an f or d field. */
double field_double(const struct table_field *);

/* Numbers, booleans, timestamps (seconds) and decimals as their text, void as nothing, strings and
 * byte arrays repaired to UTF-8, tables and arrays as JSON. */
void field_append_text(struct buf *, const struct table_field *);
void field_append_json(struct buf *, const struct table_field *);

/* The shortest text that reads back as the same number. JSON has no word for what is not finite:
 * null there; elsewhere NaN, Infinity, -Infinity. */
void number_append_text(struct buf *, double);
void number_append_json(struct buf *, double);

#endif
