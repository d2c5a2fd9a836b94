/* What the tests of the message layer share: bytes from hex, deliveries from parts, tables as
 * words.
 */
#ifndef UNIT_MESSAGE_H
#define UNIT_MESSAGE_H

#include "amqp/properties.h"
#include "amqp/table.h"
#include "message/task.h"
#include "unit/unit.h"

#define HEX_MAX 4096

struct bytes {
	size_t len;
	uint8_t at[HEX_MAX];
};

/* Pairs of hex digits, anything between them; 'x' in quotes is the letter itself. */
struct bytes from_hex(const char *hex);
struct text bytes_text(const struct bytes *bytes);
/* For from_hex: what stands before a last byte. */
#define SEVEN_ZEROS "00 00 00 00 00 00 00"

#define ck_assert_text_eq(got, expected)                                                           \
	do {                                                                                       \
		struct text got_text = (got), expected_text = (expected);                          \
		ck_assert_msg(text_is(got_text, expected_text), "got \"%.*s\", wanted \"%.*s\"",   \
			TEXT_ARGS(got_text), TEXT_ARGS(expected_text));                            \
	} while (0)

/* Adds a field whose value is given in hex. */
void put_hex(struct buf *table, const char *key, char type, const char *hex);
/* A delivery with these properties, this table as its headers if there is one, and this body, as
 * the broker link would make it. */
struct delivery *delivery_of(
	const struct properties *given, struct text table, struct text body, uint64_t body_limit);
/* "key:type=json " for each field. */
void append_words(struct buf *out, struct text table);
/* The words are append_words'. */
void assert_table(struct text table, const char *words);

#endif
