/* AMQP field values as text, for workers that get headers as strings. Layer: message. Fields are
 * from a table that table_check accepted; recursion is limited by its depth. */
#ifndef MESSAGE_FIELD_TEXT_H
#define MESSAGE_FIELD_TEXT_H

#include "amqp/table.h"

/* The octets of an integer field, as an unsigned number. */
uint64_t field_bits(const struct table_field *);
/* The value of an f or d field. */
double field_double(const struct table_field *);

/* Numbers, booleans, timestamps (seconds) and decimals as their text, void as nothing, strings and
 * byte arrays repaired to UTF-8, tables and arrays as JSON. */
void field_append_text(struct buf *, const struct table_field *);
void field_append_json(struct buf *, const struct table_field *);

/* Append the shortest text that reads back as the same number. Numbers that are not finite are null
 * in JSON, and NaN, Infinity or -Infinity in text. */
void number_append_text(struct buf *, double);
void number_append_json(struct buf *, double);

#endif
