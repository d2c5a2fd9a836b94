/* wire_take: every form of every type is read, and nothing past its end. */
#include "wire/value.h"

#include "unit/unit.h"

#include <math.h>
#include <msgpack.h>

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static const struct {
	const uint8_t *bytes;
	size_t len;
	int64_t expected;
} integer_cases[] = {
	{BYTES(0x00), 0},
	{BYTES(0x7f), 127},
	{BYTES(0xff), -1},
	{BYTES(0xe0), -32},
	{BYTES(0xcc, 0xff), 255},
	{BYTES(0xcd, 0xff, 0xff), 65535},
	{BYTES(0xce, 0xff, 0xff, 0xff, 0xff), 4294967295},
	{BYTES(0xcf, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), INT64_MAX},
	{BYTES(0xcf, 0, 0, 0, 0, 0, 0, 0, 200), 200},
	{BYTES(0xd0, 0x80), -128},
	{BYTES(0xd1, 0x80, 0), -32768},
	{BYTES(0xd2, 0x80, 0, 0, 0), INT32_MIN},
	{BYTES(0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0), INT64_MIN},
	{BYTES(0xd3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), -1},
};

START_TEST(integers_of_every_width_are_read)
{
	for (size_t i = 0; i < sizeof integer_cases / sizeof *integer_cases; i++) {
		const uint8_t *at = integer_cases[i].bytes, *end = at + integer_cases[i].len;
		struct wire_value value;
		ck_assert_int_eq(wire_take(&at, end, &value), WIRE_OK);
		ck_assert_ptr_eq(at, end);
		ck_assert_int_eq(value.type, WIRE_INT);
		ck_assert_int_eq(value.integer, integer_cases[i].expected);
	}
	const uint8_t bytes[] = {0xcf, 0x80, 0, 0, 0, 0, 0, 0, 0}, *at = bytes;
	struct wire_value value;
	ck_assert_int_eq(wire_take(&at, bytes + 9, &value), WIRE_OK);
	ck_assert_int_eq(value.type, WIRE_UINT);
	ck_assert_uint_eq(value.uinteger, UINT64_C(1) << 63);
}
END_TEST

static const struct {
	const uint8_t *bytes;
	size_t len;
	enum wire_type type;
	uint32_t expected; /* bytes or count */
	uint32_t rest;     /* bytes after it */
} sized_cases[] = {
	{BYTES(0xa0), WIRE_STR, 0, 0},
	{BYTES(0xa3, 'a', 'b', 'c'), WIRE_STR, 3, 0},
	{BYTES(0xd9, 3, 'a', 'b', 'c'), WIRE_STR, 3, 0},
	{BYTES(0xda, 0, 3, 'a', 'b', 'c'), WIRE_STR, 3, 0},
	{BYTES(0xdb, 0, 0, 0, 3, 'a', 'b', 'c'), WIRE_STR, 3, 0},
	{BYTES(0xc4, 3, 'a', 'b', 'c'), WIRE_BIN, 3, 0},
	{BYTES(0xc5, 0, 3, 'a', 'b', 'c'), WIRE_BIN, 3, 0},
	{BYTES(0xc6, 0, 0, 0, 3, 'a', 'b', 'c'), WIRE_BIN, 3, 0},
	{BYTES(0x93, 1, 2, 3), WIRE_ARRAY, 3, 3},
	{BYTES(0xdc, 0, 3, 1), WIRE_ARRAY, 3, 1},
	{BYTES(0xdd, 0, 0, 0, 3), WIRE_ARRAY, 3, 0},
	{BYTES(0x83, 1), WIRE_MAP, 3, 1},
	{BYTES(0xde, 0, 3), WIRE_MAP, 3, 0},
	{BYTES(0xdf, 0xff, 0xff, 0xff, 0xff), WIRE_MAP, UINT32_MAX, 0},
	{BYTES(0xc0, 7), WIRE_NIL, 0, 1},
};

START_TEST(values_with_a_size_are_read)
{
	for (size_t i = 0; i < sizeof sized_cases / sizeof *sized_cases; i++) {
		const uint8_t *at = sized_cases[i].bytes, *end = at + sized_cases[i].len;
		struct wire_value value;
		ck_assert_int_eq(wire_take(&at, end, &value), WIRE_OK);
		ck_assert_uint_eq((size_t)(end - at), sized_cases[i].rest);
		ck_assert_int_eq(value.type, sized_cases[i].type);
		if (value.type == WIRE_STR || value.type == WIRE_BIN) {
			ck_assert_uint_eq(value.bytes.len, sized_cases[i].expected);
			ck_assert_mem_eq(value.bytes.ptr, "abc", value.bytes.len);
		} else if (value.type != WIRE_NIL) {
			ck_assert_uint_eq(value.count, sized_cases[i].expected);
		}
	}
}
END_TEST

START_TEST(floats_and_bools_are_read)
{
	const uint8_t bytes[] = {0xca, 0x3f, 0x80, 0, 0, 0xcb, 0xbf, 0xe0, 0, 0, 0, 0, 0, 0, 0xcb,
		0x7f, 0xf8, 0, 0, 0, 0, 0, 0, 0xc2, 0xc3};
	const uint8_t *at = bytes, *end = bytes + sizeof bytes;
	struct wire_value value;
	ck_assert_int_eq(wire_take(&at, end, &value), WIRE_OK);
	ck_assert(value.type == WIRE_FLOAT && value.number == 1.0);
	ck_assert_int_eq(wire_take(&at, end, &value), WIRE_OK);
	ck_assert(value.type == WIRE_FLOAT && value.number == -0.5);
	ck_assert_int_eq(wire_take(&at, end, &value), WIRE_OK);
	ck_assert(value.type == WIRE_FLOAT && isnan(value.number));
	ck_assert_int_eq(wire_take(&at, end, &value), WIRE_OK);
	ck_assert(value.type == WIRE_BOOL && !value.boolean);
	ck_assert_int_eq(wire_take(&at, end, &value), WIRE_OK);
	ck_assert(value.type == WIRE_BOOL && value.boolean);
	ck_assert_ptr_eq(at, end);
}
END_TEST

/* A refusal moves nothing. */
START_TEST(a_refusal_moves_nothing)
{
	const uint8_t cut[] = {0xcd, 1}, never[] = {0xc1}, *at = cut;
	struct wire_value value = {.type = WIRE_NIL};
	ck_assert_int_eq(wire_take(&at, cut + 2, &value), WIRE_CUT);
	ck_assert_ptr_eq(at, cut);
	at = never;
	ck_assert_int_eq(wire_take(&at, never + 1, &value), WIRE_BAD_BYTE);
	ck_assert_ptr_eq(at, never);
	ck_assert_int_eq(value.type, WIRE_NIL);
}
END_TEST

START_TEST(skip_passes_one_object)
{
	const uint8_t bytes[] = {
		0x82, 0xa1, 'a', 0x92, 1, 0x81, 0xa0, 0xc0, 0xa1, 'b', 0xc4, 1, 9, 5};
	const uint8_t *at = bytes, *end = bytes + sizeof bytes;
	wire_skip(&at, end);
	ck_assert_uint_eq((size_t)(end - at), 1);
	wire_skip(&at, end);
	ck_assert_ptr_eq(at, end);
	wire_skip(&at, end);
	ck_assert_ptr_eq(at, end);
}
END_TEST

static const struct {
	const uint8_t *bytes;
	size_t len;
	bool is_timestamp;
	int64_t seconds;
} timestamp_cases[] = {
	{BYTES(0xd6, 0xff, 0x65, 0, 0, 0), true, 0x65000000},
	{BYTES(0xd6, 0xff, 0xff, 0xff, 0xff, 0xff), true, 0xffffffff},
	/* 30 bits of nanoseconds, 34 of seconds */
	{BYTES(0xd7, 0xff, 0xee, 0x6b, 0x27, 0xfd, 0, 0, 0, 1), true, (INT64_C(1) << 32) + 1},
	{BYTES(0xc7, 12, 0xff, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe), true,
		-2},
	{BYTES(0xc7, 3, 0xff, 1, 2, 3), false, 0},
	{BYTES(0xd6, 0x01, 0, 0, 0, 1), false, 0},
	{BYTES(0x05), false, 0},
};

START_TEST(timestamps_of_every_width_are_read)
{
	for (size_t i = 0; i < sizeof timestamp_cases / sizeof *timestamp_cases; i++) {
		const uint8_t *at = timestamp_cases[i].bytes;
		struct wire_value value;
		ck_assert_int_eq(wire_take(&at, at + timestamp_cases[i].len, &value), WIRE_OK);
		int64_t seconds = 0;
		ck_assert_int_eq(wire_timestamp(&value, &seconds), timestamp_cases[i].is_timestamp);
		ck_assert_int_eq(seconds, timestamp_cases[i].seconds);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("wire/value");
	UNIT_CASE(s, "take", integers_of_every_width_are_read, values_with_a_size_are_read,
		floats_and_bools_are_read, a_refusal_moves_nothing);
	UNIT_CASE(s, "skip", skip_passes_one_object);
	UNIT_CASE(s, "timestamp", timestamps_of_every_width_are_read);
	return s;
}

UNIT_MAIN(suite)
