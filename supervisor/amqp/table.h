/* AMQP field tables on the raw bytes: checked, read and written without a tree. Layer: amqp. A
 * table here is its entries, without the 4-byte length. Reading never recurses and never allocates.
 * Types are RabbitMQ's: t b B s u I i l L f d D S x A F T V, with its errata. */
#ifndef AMQP_TABLE_H
#define AMQP_TABLE_H

#include "base/buf.h"

#define TABLE_DEPTH_MAX  16
#define TABLE_FIELDS_MAX 4096 /* in a whole table, nested ones counted */

struct table_field {
	struct text key;   /* empty inside an array */
	char type;         /* the AMQP type octet */
	struct text value; /* raw value bytes; S and x: their content; A and F: their entries */
};

/* RC_OK: every field, nested ones included, lies within its bounds. RC_LIMIT: too deep or too many
 * fields. RC_MALFORMED: anything else. After RC_OK the functions below cannot fail. */
enum rc table_check(struct text table) MUST_CHECK;

/* Take the next field off *rest, which is a table (keyed) or array (not keyed) before the first
 * call. False: no more fields; of a table that was not checked, or the next one is malformed. */
bool table_next(struct text *rest, bool keyed, struct table_field *ret_field);
/* Find the last field of that name at the top level; false: none. */
bool table_find(struct text table, struct text key, struct table_field *ret_field);

/* How many fields a checked table (keyed) or array (not keyed) has, nested ones counted: the number
 * that table_check limits. */
size_t table_count(struct text members, bool keyed);

/* The value of an integer field (b B s u I i l L T) as int64; L beyond INT64_MAX is clamped. False
 * for other types. */
bool table_field_integer(const struct table_field *, int64_t *ret_value);

/* Writers: append one whole entry. key: at most 255 bytes; more is the caller's bug. */
void table_put_field(struct buf *, const struct table_field *); /* unchanged */
void table_put_string(struct buf *, struct text key, struct text value);
void table_put_integer(struct buf *, struct text key, int64_t value); /* as l */
void table_put_bool(struct buf *, struct text key, bool value);

#endif
