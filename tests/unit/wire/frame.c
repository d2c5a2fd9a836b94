/* wire_check and the length field: which frames are accepted, which are refused and why, and that
 * msgpack-c reads the accepted ones. */
#include "wire/frame.h"

#include "unit/unit.h"
#include "wire/value.h"

#include <msgpack.h>
#include <stdio.h>

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static const struct {
	const uint8_t *bytes;
	size_t len;
	enum wire_check_result expected;
} check_cases[] = {
	/* whole objects of every kind */
	{BYTES(0x00), WIRE_OK},
	{BYTES(0x7f), WIRE_OK},
	{BYTES(0xe0), WIRE_OK},
	{BYTES(0xc0), WIRE_OK},
	{BYTES(0xc2), WIRE_OK},
	{BYTES(0xc3), WIRE_OK},
	{BYTES(0xcc, 1), WIRE_OK},
	{BYTES(0xcd, 1, 2), WIRE_OK},
	{BYTES(0xce, 1, 2, 3, 4), WIRE_OK},
	{BYTES(0xcf, 1, 2, 3, 4, 5, 6, 7, 8), WIRE_OK},
	{BYTES(0xd0, 1), WIRE_OK},
	{BYTES(0xd1, 1, 2), WIRE_OK},
	{BYTES(0xd2, 1, 2, 3, 4), WIRE_OK},
	{BYTES(0xd3, 1, 2, 3, 4, 5, 6, 7, 8), WIRE_OK},
	{BYTES(0xca, 1, 2, 3, 4), WIRE_OK},
	{BYTES(0xcb, 1, 2, 3, 4, 5, 6, 7, 8), WIRE_OK},
	{BYTES(0xa0), WIRE_OK},
	{BYTES(0xa2, 'h', 'i'), WIRE_OK},
	{BYTES(0xd9, 1, 'x'), WIRE_OK},
	{BYTES(0xda, 0, 1, 'x'), WIRE_OK},
	{BYTES(0xdb, 0, 0, 0, 1, 'x'), WIRE_OK},
	{BYTES(0xc4, 1, 'x'), WIRE_OK},
	{BYTES(0xc5, 0, 1, 'x'), WIRE_OK},
	{BYTES(0xc6, 0, 0, 0, 1, 'x'), WIRE_OK},
	{BYTES(0xc7, 1, 5, 'x'), WIRE_OK},
	{BYTES(0xc8, 0, 1, 5, 'x'), WIRE_OK},
	{BYTES(0xc9, 0, 0, 0, 1, 5, 'x'), WIRE_OK},
	{BYTES(0xd4, 5, 1), WIRE_OK},
	{BYTES(0xd5, 5, 1, 2), WIRE_OK},
	{BYTES(0xd6, 5, 1, 2, 3, 4), WIRE_OK},
	{BYTES(0xd7, 5, 1, 2, 3, 4, 5, 6, 7, 8), WIRE_OK},
	{BYTES(0xd8, 5, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8), WIRE_OK},
	{BYTES(0x90), WIRE_OK},
	{BYTES(0x80), WIRE_OK},
	{BYTES(0x92, 1, 0x91, 2), WIRE_OK},
	{BYTES(0xdc, 0, 1, 9), WIRE_OK},
	{BYTES(0xdd, 0, 0, 0, 1, 9), WIRE_OK},
	{BYTES(0x81, 0xa1, 'k', 0x80), WIRE_OK},
	{BYTES(0xde, 0, 1, 0xa1, 'k', 0), WIRE_OK},
	{BYTES(0xdf, 0, 0, 0, 1, 0xa1, 'k', 0), WIRE_OK},
	/* cut */
	{NULL, 0, WIRE_CUT},
	{BYTES(0xcd, 1), WIRE_CUT},
	{BYTES(0xa2, 'h'), WIRE_CUT},
	{BYTES(0xd9), WIRE_CUT},
	{BYTES(0xdb, 0xff, 0xff, 0xff, 0xff), WIRE_CUT},
	{BYTES(0xc6, 0xff, 0xff, 0xff, 0xff, 1), WIRE_CUT},
	{BYTES(0xc7, 1), WIRE_CUT},
	{BYTES(0xc7, 1, 5), WIRE_CUT},
	{BYTES(0xd4, 5), WIRE_CUT},
	{BYTES(0xdc, 0), WIRE_CUT},
	{BYTES(0x92, 0xa1, 'x', 0xa2, 'y'), WIRE_CUT},
	{BYTES(0x81, 0xa1, 'k'), WIRE_CUT},
	/* more elements announced than bytes follow */
	{BYTES(0xdd, 0x10, 0, 0, 0), WIRE_TOO_MANY},
	{BYTES(0xdd, 0xff, 0xff, 0xff, 0xff), WIRE_TOO_MANY},
	{BYTES(0xdf, 0x80, 0, 0, 0, 1, 1), WIRE_TOO_MANY},
	{BYTES(0xdf, 0xff, 0xff, 0xff, 0xff), WIRE_TOO_MANY},
	{BYTES(0x91), WIRE_TOO_MANY},
	{BYTES(0x81, 0xa1), WIRE_TOO_MANY},
	{BYTES(0x92, 0x92, 1, 2), WIRE_TOO_MANY}, /* the second of the outer one is missing, too */
	/* trailing */
	{BYTES(0x00, 0x00), WIRE_TRAILING},
	{BYTES(0x80, 0xc0), WIRE_TRAILING},
	{BYTES(0x91, 1, 1), WIRE_TRAILING},
	/* a byte that MessagePack never uses */
	{BYTES(0xc1), WIRE_BAD_BYTE},
	{BYTES(0x92, 1, 0xc1), WIRE_BAD_BYTE},
};

START_TEST(each_object_is_accepted_or_refused_with_a_reason)
{
	for (size_t i = 0; i < sizeof check_cases / sizeof *check_cases; i++) {
		enum wire_check_result got = wire_check(check_cases[i].bytes, check_cases[i].len);
		ck_assert_msg(got == check_cases[i].expected, "case %zu: %s, wanted %s", i,
			wire_check_words(got), wire_check_words(check_cases[i].expected));
	}
}
END_TEST

START_TEST(prefixes_and_extensions_are_refused)
{
	for (size_t i = 0; i < sizeof check_cases / sizeof *check_cases; i++) {
		if (check_cases[i].expected != WIRE_OK)
			continue;
		size_t len = check_cases[i].len;
		for (size_t cut = 0; cut < len; cut++) {
			uint8_t *exact = malloc(cut ? cut : 1);
			memcpy(exact, check_cases[i].bytes, cut);
			ck_assert_msg(
				wire_check(exact, cut) != WIRE_OK, "case %zu cut to %zu", i, cut);
			free(exact);
		}
		uint8_t longer[32];
		memcpy(longer, check_cases[i].bytes, len);
		longer[len] = 0xc0;
		ck_assert_int_eq(wire_check(longer, len + 1), WIRE_TRAILING);
	}
}
END_TEST

static size_t nested(uint8_t *out, unsigned depth, bool maps)
{
	size_t len = 0;
	for (unsigned i = 0; i < depth; i++) {
		out[len++] = maps ? 0x81 : 0x91;
		if (maps)
			out[len++] = 0xa0;
	}
	out[len++] = 0xc0;
	return len;
}

START_TEST(the_depth_is_limited)
{
	uint8_t bytes[200];
	for (int maps = 0; maps < 2; maps++) {
		size_t len = nested(bytes, WIRE_DEPTH_MAX, maps);
		ck_assert_int_eq(wire_check(bytes, len), WIRE_OK);
		len = nested(bytes, WIRE_DEPTH_MAX + 1, maps);
		ck_assert_int_eq(wire_check(bytes, len), WIRE_TOO_DEEP);
		len = nested(bytes, 93, maps);
		ck_assert_int_eq(wire_check(bytes, len), WIRE_TOO_DEEP);
	}
	/* empty containers nest as well */
	memset(bytes, 0x91, WIRE_DEPTH_MAX);
	bytes[WIRE_DEPTH_MAX] = 0x90;
	ck_assert_int_eq(wire_check(bytes, WIRE_DEPTH_MAX + 1), WIRE_TOO_DEEP);
}
END_TEST

START_TEST(the_number_of_objects_is_limited)
{
	size_t max = WIRE_OBJECTS_MAX - 1; /* with the array itself */
	uint8_t *bytes = calloc(1, max + 6);
	bytes[0] = 0xdd;
	wire_put_length(bytes + 1, (uint32_t)max);
	ck_assert_int_eq(wire_check(bytes, max + 5), WIRE_OK);
	wire_put_length(bytes + 1, (uint32_t)max + 1);
	ck_assert_int_eq(wire_check(bytes, max + 6), WIRE_TOO_MANY);
	free(bytes);
}
END_TEST

START_TEST(a_length_is_written_and_read)
{
	static const uint32_t lengths[] = {0, 1, 0xff, 0x100, 0x01020304, 17u << 20, UINT32_MAX};
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		uint8_t bytes[WIRE_LENGTH_BYTES];
		wire_put_length(bytes, lengths[i]);
		ck_assert_uint_eq(wire_get_length(bytes), lengths[i]);
	}
	uint8_t bytes[WIRE_LENGTH_BYTES];
	wire_put_length(bytes, 0x01020304);
	ck_assert_mem_eq(bytes, "\1\2\3\4", 4);
}
END_TEST

/* Random bytes: msgpack-c reads what we accept up to the last byte. It gets no others. */
START_TEST(msgpack_c_accepts_what_we_accept)
{
	unsigned seed = 20240501, taken = 0;
	for (int run = 0; run < 200000; run++) {
		uint8_t bytes[24];
		size_t len = 1 + (size_t)rand_r(&seed) % sizeof bytes;
		for (size_t i = 0; i < len; i++)
			bytes[i] = rand_r(&seed) % 3 ? (uint8_t)(0x80 + rand_r(&seed) % 0x80)
						     : (uint8_t)(rand_r(&seed) % 8);
		if (wire_check(bytes, len) != WIRE_OK)
			continue;
		taken++;
		msgpack_unpacked unpacked;
		msgpack_unpacked_init(&unpacked);
		size_t offset = 0;
		ck_assert_int_eq(msgpack_unpack_next(&unpacked, (const char *)bytes, len, &offset),
			MSGPACK_UNPACK_SUCCESS);
		ck_assert_uint_eq(offset, len);
		msgpack_unpacked_destroy(&unpacked);
	}
	ck_assert_uint_gt(taken, 1000);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("wire/frame");
	UNIT_CASE(s, "check", each_object_is_accepted_or_refused_with_a_reason,
		prefixes_and_extensions_are_refused, the_depth_is_limited,
		the_number_of_objects_is_limited, msgpack_c_accepts_what_we_accept);
	UNIT_CASE(s, "length", a_length_is_written_and_read);
	return s;
}

UNIT_MAIN(suite)
