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

/* Bytes from pairs of hex digits, with anything between pairs; 'x' in quotes is that character. */
struct bytes from_hex(const char *hex);
struct text bytes_text(const struct bytes *bytes);
/* For from_hex: the first seven bytes of a small 64-bit number. */
#define SEVEN_ZEROS "00 00 00 00 00 00 00"

#define ck_assert_text_eq(got, expected)                                                           \
	do {                                                                                       \
		struct text got_text = (got), expected_text = (expected);                          \
		ck_assert_msg(text_is(got_text, expected_text), "got \"%.*s\", wanted \"%.*s\"",   \
			TEXT_ARGS(got_text), TEXT_ARGS(expected_text));                            \
	} while (0)

/* Append a field whose value is in hex. */
void put_hex(struct buf *table, const char *key, char type, const char *hex);
/* A delivery with these properties, this table as headers if it is not empty, and this body, as the
 * broker link makes it. */
struct delivery *delivery_of(
	const struct properties *given, struct text table, struct text body, uint64_t body_limit);
/* The same for a pool with sessions. */
struct delivery *delivery_of_session(const struct properties *given, struct text table,
	struct text body, const struct key_source *key);
/* "key:type=json " for each field. */
void append_words(struct buf *out, struct text table);
/* The words are append_words'. */
void assert_table(struct text table, const char *words);

#endif
