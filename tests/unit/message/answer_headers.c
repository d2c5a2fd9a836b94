/* answer_read: a worker's headers as AMQP fields; which are removed, and which are invalid. */
#include "message/copy.h"
#include "unit/support/message/answer.h"
#include <stdio.h>

/* One header value, and the AMQP field that it becomes. */
static const struct {
	const char *hex;
	const char *field; /* type and raw bytes after the key; NULL: invalid */
} value_cases[] = {
	{"c0", "'V'"},
	{"c2", "'t' 00"},
	{"c3", "'t' 01"},
	{"00", "'b' 00"},
	{"7f", "'b' 7f"},
	{"e0", "'b' e0"},
	{"d1 ff 80", "'b' 80"},
	{"cc 80", "'s' 00 80"},
	{"d1 80 00", "'s' 80 00"},
	{"d1 ff 7f", "'s' ff 7f"},
	{"cd 80 00", "'I' 00 00 80 00"},
	{"d2 80 00 00 00", "'I' 80 00 00 00"},
	{"ce 80 00 00 00", "'l' 00 00 00 00 80 00 00 00"},
	{"d3 80 00 00 00 00 00 00 00", "'l' 80 " SEVEN_ZEROS},
	{"cf 7f ff ff ff ff ff ff ff", "'l' 7f ff ff ff ff ff ff ff"},
	{"cf 00 00 00 00 00 00 00 01", "'b' 01"},
	{"cf ff ff ff ff ff ff ff ff", "'S' 00 00 00 14 '18446744073709551615'"},
	{"ca 3f 80 00 00", "'d' 3f f0 00 00 00 00 00 00"},
	{"cb 3f b9 99 99 99 99 99 9a", "'d' 3f b9 99 99 99 99 99 9a"},
	/* RabbitMQ closes the connection over a double that is not finite */
	{"cb 7f f8 00 00 00 00 00 00", "'S' 00 00 00 03 'NaN'"},
	{"ca 7f 80 00 00", "'S' 00 00 00 08 'Infinity'"},
	{"91 cb ff f0 00 00 00 00 00 00", "'A' 00 00 00 0e 'S' 00 00 00 09 '-Infinity'"},
	{"a0", "'S' 00 00 00 00"},
	{"a2'hi'", "'S' 00 00 00 02 'hi'"},
	{"a1 ff", "'S' 00 00 00 01 ff"},
	{"c4 02 'hi'", "'x' 00 00 00 02 'hi'"},
	{"d6 ff 65 00 00 00", "'T' 00 00 00 00 65 00 00 00"},
	{"d7 ff 00 00 00 04 00 00 00 01", "'T' 00 00 00 00 00 00 00 01"},
	{"c7 0c ff 00 00 00 00 ff ff ff ff ff ff ff ff", "'b' ff"},
	{"d4 05 00", NULL},
	{"c7 03 ff 01 02 03", NULL},
	{"90", "'A' 00 00 00 00"},
	{"93 01 c0 a1'x'", "'A' 00 00 00 09 'b' 01 'V' 'S' 00 00 00 01 'x'"},
	{"80", "'F' 00 00 00 00"},
	{"81 a1'n' 91 c3", "'F' 00 00 00 09 01 'n' 'A' 00 00 00 02 't' 01"},
	{"81 c4 01 'n' 01", "'F' 00 00 00 04 01 'n' 'b' 01"},
	{"81 01 01", NULL},
	{"92 01 d4 05 00", NULL},
	/* seven levels below the header table stay, the next is text */
	{"91 91 91 91 91 91 91 91 05", "'A' 00 00 00 26 'A' 00 00 00 21 'A' 00 00 00 1c 'A' 00 00 "
				       "00 17 'A' 00 00 00 12 'A' 00 00 00 0d 'A' 00 00 00 08 "
				       "'S' 00 00 00 03 '[5]'"},
	{"91 91 91 91 91 91 91 81 01 c0", NULL}, /* a key that is no text, in JSON */
	{"91 91 91 91 91 91 91 81 a1'k' d4 05 00", NULL},
	{"91 91 91 91 91 91 91 82 a1'k' 94 c0 c2 cb 7ff8000000000000 ca 3f000000 a1'e' "
	 "92 cf ffffffffffffffff d6 ff 00 00 00 07",
		"'A' 00 00 00 5b 'A' 00 00 00 56 'A' 00 00 00 51 'A' 00 00 00 4c 'A' 00 00 00 47 "
		"'A' 00 00 00 42 'A' 00 00 00 3d "
		"'S' 00 00 00 38 '{\"k\":[null,false,null,0.5],\"e\":[18446744073709551615,7]}'"},
};

static struct bytes frame_with_header(const char *key, const char *value)
{
	char hex[4 * HEX_MAX];
	snprintf(hex, sizeof hex, "82 a1'1' cc c9 a1'2' 81 d9 %02zx '%s' %s", strlen(key), key,
		value);
	return from_hex(hex);
}

START_TEST(each_type_becomes_an_amqp_field)
{
	for (size_t i = 0; i < sizeof value_cases / sizeof *value_cases; i++) {
		struct bytes frame = frame_with_header("key", value_cases[i].hex);
		struct output *output = read_good(bytes_text(&frame));
		if (value_cases[i].field) {
			char hex[HEX_MAX];
			snprintf(hex, sizeof hex, "03 'key' %s", value_cases[i].field);
			struct bytes expected = from_hex(hex);
			ck_assert_msg(output->invalid == REASON_NONE, "case %zu", i);
			ck_assert_msg(
				text_is(output->headers, bytes_text(&expected)), "case %zu", i);
			ck_assert_int_eq(table_check(output->headers), RC_OK);
		} else {
			ck_assert_msg(output->invalid == REASON_REPLY_INVALID, "case %zu", i);
			ck_assert_uint_eq(output->headers.len, 0);
		}
		output_free(output);
	}
}
END_TEST

static const struct {
	const char *key, *value;
	const char *table; /* NULL: invalid */
	const char *content_type;
	int64_t retry_after_ms;
} header_cases[] = {
	/* our own headers and the broker's are removed, of any type */
	{"CC", "91 a1'q'", "", "", -1},
	{"CC", "a1'q'", "", "", -1},
	{"BCC", "01", "", "", -1},
	{"x-death", "90", "", "", -1},
	{"x-first-death-queue", "a1'q'", "", "", -1},
	{"x-last-death-reason", "a1'q'", "", "", -1},
	{"x-delivery-count", "05", "", "", -1},
	{"x-acquired-count", "05", "", "", -1},
	{"x-wpool-attempt", "05", "", "", -1},
	{"x-wpool-", "d4 05 00", "", "", -1},
	{"cc", "01", "cc:b=1 ", "", -1},
	{"x-wpool", "01", "x-wpool:b=1 ", "", -1},
	{"", "01", ":b=1 ", "", -1},
	/* content-type is a property */
	{"content-type", "a9'text/html'", "", "text/html", -1},
	{"content-type", "c4 09 'text/html'", "", "text/html", -1},
	{"content-type", "c0", "", "", -1},
	{"content-type", "a0", "", "", -1},
	{"content-type", "05", NULL, "", -1},
	{"content-type", "91 05", NULL, "", -1},
	{"Content-Type", "05", "Content-Type:b=5 ", "", -1},
	/* the delay that a worker asks for */
	{"RetryAfterMilliseconds", "cd 03 e8", "RetryAfterMilliseconds:s=1000 ", "", 1000},
	{"RetryAfterMilliseconds", "00", "RetryAfterMilliseconds:b=0 ", "", 0},
	{"RetryAfterMilliseconds", "ff", "RetryAfterMilliseconds:b=-1 ", "", -1},
	{"RetryAfterMilliseconds", "a4'1500'", "RetryAfterMilliseconds:S=\"1500\" ", "", 1500},
	{"RetryAfterMilliseconds", "c4 02 '15'", "RetryAfterMilliseconds:x=\"15\" ", "", 15},
	{"RetryAfterMilliseconds", "a0", "RetryAfterMilliseconds:S=\"\" ", "", -1},
	{"RetryAfterMilliseconds", "a3'1s5'", "RetryAfterMilliseconds:S=\"1s5\" ", "", -1},
	{"RetryAfterMilliseconds", "b3'9223372036854775807'",
		"RetryAfterMilliseconds:S=\"9223372036854775807\" ", "", INT64_MAX},
	{"RetryAfterMilliseconds", "b3'9223372036854775808'",
		"RetryAfterMilliseconds:S=\"9223372036854775808\" ", "", -1},
	{"RetryAfterMilliseconds", "cb 40 8f 44 00 00 00 00 00", "RetryAfterMilliseconds:d=1000.5 ",
		"", 1000},
	{"RetryAfterMilliseconds", "cb 7f f8 00 00 00 00 00 00",
		"RetryAfterMilliseconds:S=\"NaN\" ", "", -1},
	{"RetryAfterMilliseconds", "c0", "RetryAfterMilliseconds:V=null ", "", -1},
};

START_TEST(reserved_headers_are_removed_and_ours_are_read)
{
	for (size_t i = 0; i < sizeof header_cases / sizeof *header_cases; i++) {
		struct bytes frame = frame_with_header(header_cases[i].key, header_cases[i].value);
		struct output *output = read_good(bytes_text(&frame));
		const char *table = header_cases[i].table;
		ck_assert_msg(output->invalid == (table ? REASON_NONE : REASON_REPLY_INVALID),
			"case %zu", i);
		assert_table(output->headers, table ? table : "");
		ck_assert_text_eq(output->content_type, text_from(header_cases[i].content_type));
		ck_assert_msg(
			output->retry_after_ms == header_cases[i].retry_after_ms, "case %zu", i);
		output_free(output);
	}
}
END_TEST

static const struct {
	const char *status, *value;
	int64_t hard_limit_ms;
} hard_limit_cases[] = {
	{"ff", "cd 03 e8", 1000},
	{"ff", "01", 1},
	{"ff", "d3 00 00 00 07 57 b1 2c 00", OUTPUT_HARD_LIMIT_MAX},
	{"ff", "d3 00 00 00 07 57 b1 2c 01", 0},
	{"ff", "cf ff ff ff ff ff ff ff ff", 0},
	{"ff", "00", 0},
	{"ff", "ff", 0},
	{"ff", "a4'1500'", 1500},
	{"ff", "c4 02 '15'", 15},
	{"ff", "ab'31536000000'", OUTPUT_HARD_LIMIT_MAX},
	{"ff", "ab'31536000001'", 0},
	{"ff", "a3'1s5'", 0},
	{"ff", "a0", 0},
	{"ff", "cb 40 8f 44 00 00 00 00 00", 1000}, /* 1000.5 */
	{"ff", "cb 3f e0 00 00 00 00 00 00", 0},    /* 0.5 */
	{"ff", "cb 7f f8 00 00 00 00 00 00", 0},    /* NaN */
	{"ff", "c0", 0},
	{"ff", "91 01", 0},
	/* a header of an answer as any other */
	{"cc c8", "01", -1},
	{"cc c9", "01", -1},
	{"cd 01 f4", "01", -1},
};

START_TEST(progress_sets_a_hard_limit)
{
	ck_assert_int_eq(OUTPUT_HARD_LIMIT_MAX, INT64_C(31536000000));
	for (size_t i = 0; i < sizeof hard_limit_cases / sizeof *hard_limit_cases; i++) {
		char hex[HEX_MAX];
		snprintf(hex, sizeof hex,
			"82 a1'1' %s a1'2' 82 b5'HardLimitMilliseconds' %s a1'x' 01",
			hard_limit_cases[i].status, hard_limit_cases[i].value);
		struct bytes frame = from_hex(hex);
		struct output *output = read_good(bytes_text(&frame));
		ck_assert_msg(
			output->hard_limit_ms == hard_limit_cases[i].hard_limit_ms, "case %zu", i);
		ck_assert_int_eq(output->invalid, REASON_NONE);
		output_free(output);
	}
}
END_TEST

static const struct {
	const char *key, *value;
	int64_t postpone_ms;
} postpone_cases[] = {
	{"PostponeMilliseconds", "cd 03 e8", 1000},
	{"PostponeMilliseconds", "a4'1500'", 1500},
	{"PostponeMilliseconds", "cb 40 8f 44 00 00 00 00 00", 1000},
	{"PostponeMilliseconds", "64", 100},
	{"PostponeMilliseconds", "63", 100}, /* not too early */
	{"PostponeMilliseconds", "00", 100},
	{"PostponeMilliseconds", "ff", -1},
	{"PostponeMilliseconds", "cf 00 00 00 07 57 b1 2c 00", 31536000000},
	{"PostponeMilliseconds", "cf 00 00 00 07 57 b1 2c 01", -1},
	{"PostponeMilliseconds", "a4'soon'", -1},
	{"PostponeMilliseconds", "cb 7f f8 00 00 00 00 00 00", -1},
	{"PostponeMilliseconds", "c0", -1},
	{"RetryAfterMilliseconds", "cd 03 e8", -1},
};

START_TEST(a_time_to_postpone_is_read_and_kept_in_its_range)
{
	for (size_t i = 0; i < sizeof postpone_cases / sizeof *postpone_cases; i++) {
		struct bytes frame =
			frame_with_header(postpone_cases[i].key, postpone_cases[i].value);
		struct output *output = read_good(bytes_text(&frame));
		ck_assert_msg(output->postpone_ms == postpone_cases[i].postpone_ms,
			"case %zu: %lld", i, (long long)output->postpone_ms);
		output_free(output);
	}
}
END_TEST

START_TEST(a_content_type_has_at_most_255_bytes)
{
	char value[HEX_MAX];
	for (int len = 255; len <= 256; len++) {
		int at = snprintf(value, sizeof value, "da %02x %02x ", len >> 8, len & 0xff);
		for (int i = 0; i < len; i++)
			at += snprintf(value + at, sizeof value - (size_t)at, "61");
		struct bytes frame = frame_with_header("content-type", value);
		struct output *output = read_good(bytes_text(&frame));
		ck_assert_int_eq(output->invalid, len == 255 ? REASON_NONE : REASON_REPLY_INVALID);
		output_free(output);
	}
}
END_TEST

/* More fields than a copy may have, within the bytes of a header frame. */
START_TEST(too_many_fields_are_invalid)
{
	struct answer_limits wide = {.header_bytes = 1 << 20, .body_bytes = 0};
	for (unsigned count = REPLY_FIELDS_MAX - 1; count <= REPLY_FIELDS_MAX; count++) {
		struct buf frame;
		buf_init(&frame, SIZE_MAX);
		struct bytes head = from_hex("82 a1'1' cc c9 a1'2' 81 a1'k' dc");
		buf_append(&frame, head.at, head.len);
		buf_append_be16(&frame, (uint16_t)count);
		for (unsigned i = 0; i < count; i++)
			buf_append_byte(&frame, 0xc0);
		struct output *output;
		struct answer_fault fault;
		ck_assert_int_eq(answer_read(buf_text(&frame), &wide, &output, &fault), RC_OK);
		ck_assert_int_eq(output->invalid,
			count < REPLY_FIELDS_MAX ? REASON_NONE : REASON_REPLY_INVALID);
		output_free(output);
		buf_release(&frame);
	}
}
END_TEST

static const struct {
	const char *hex; /* of a frame */
	int64_t soft_ms;
} limit_cases[] = {
	{"83 a1'1' cc c9 a1'3' a1'q' a1'2' 81 b3'TimeoutMilliseconds' a3'250'", 250},
	{"83 a1'1' cc c9 a1'3' a1'q' a1'2' 81 b3'TimeoutMilliseconds' cc fa", 250},
	{"83 a1'1' cc c9 a1'3' a1'q' a1'2' 81 b3'TimeoutMilliseconds' ff", -1},
	{"83 a1'1' cc c9 a1'3' a1'q' a1'2' 81 a1'x' a3'250'", -1},
	{"82 a1'1' cc c9 a1'3' a1'q'", -1},
	{"82 a1'1' cc c9 a1'2' 81 b3'TimeoutMilliseconds' a3'250'", -1},
};

START_TEST(the_rest_of_a_task_has_its_own_soft_limit)
{
	for (size_t i = 0; i < sizeof limit_cases / sizeof *limit_cases; i++) {
		struct bytes frame = from_hex(limit_cases[i].hex);
		struct output *output = read_good(bytes_text(&frame));
		ck_assert_msg(output->soft_ms == limit_cases[i].soft_ms, "case %zu", i);
		output_free(output);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/answer_headers");
	UNIT_CASE(s, "headers", each_type_becomes_an_amqp_field,
		reserved_headers_are_removed_and_ours_are_read, progress_sets_a_hard_limit,
		a_time_to_postpone_is_read_and_kept_in_its_range,
		the_rest_of_a_task_has_its_own_soft_limit);
	UNIT_CASE(s, "limits", a_content_type_has_at_most_255_bytes, too_many_fields_are_invalid);
	return s;
}

UNIT_MAIN(suite)
