/* What wrong bytes of a worker look like: cut, escaped, and with what they probably are. */
#include "message/fault_detail.h"
#include "base/utf8.h"
#include "unit/support/message/message.h"
#include "unit/unit.h"

#define LIMIT 17825792

static const struct {
	struct text bytes;
	const char *detail;
} lengths[] = {
	{TEXT("HTTP/1.1 400 Bad Request\r\nServer: x\r\n"),
		"48 54 54 50 is 1213486160, max_frame is 17825792; this looks like HTTP: "
		"\"HTTP/1.1 400 Bad Request...\""},
	{TEXT("GET / HTTP/1.1"), "47 45 54 20 is 1195725856, max_frame is 17825792; this looks "
				 "like HTTP: \"GET / HTTP/1.1\""},
	{TEXT("{\"status\":200}\n"), "7b 22 73 74 is 2065855348, max_frame is 17825792; this looks "
				     "like JSON: \"{\"status\":200}\\n\""},
	{TEXT("Hello\x1b[31m"), "48 65 6c 6c is 1214606444, max_frame is 17825792; this looks like "
				"text: \"Hello\\x1b[31m\""},
	{TEXT("\x81\xa1\x31\xcc\xc8"), "81 a1 31 cc is 2174824908, max_frame is 17825792; this "
				       "looks like MessagePack without a length in front"},
	{TEXT("\5\0\0\0\x81\xa1\x31\xcc\xc8"), "05 00 00 00 is 83886080, max_frame is 17825792; "
					       "this looks like a little-endian 5"},
	/* the rest of the frame has not come yet */
	{TEXT("\5\0\0\0\x81\xa1"), "05 00 00 00 is 83886080, max_frame is 17825792; this looks "
				   "like a little-endian 5"},
	{TEXT("\0\0\0\0\0\0\0\5\x81\xa1\x31\xcc\xc8"), "00 00 00 00 00 00 00 05 81 a1 31 cc c8; "
						       "this looks like a length of 8 bytes"},
	{TEXT("\0\0\0\0"), "00 00 00 00"},
	{TEXT("\xff\xff\xff\xff"), "ff ff ff ff is 4294967295, max_frame is 17825792"},
	{TEXT("\x7f\xff\xff\xff\0"), "7f ff ff ff is 2147483647, max_frame is 17825792"},
};

START_TEST(a_wrong_length_is_shown_with_what_it_looks_like)
{
	char detail[FAULT_DETAIL_SIZE];
	fault_detail_length(detail, lengths[_i].bytes, LIMIT);
	ck_assert_str_eq(detail, lengths[_i].detail);
}
END_TEST

static const struct {
	struct text bytes; /* the first 16 */
	size_t len;        /* of all that came */
	const char *detail;
} halves[] = {
	{TEXT("\0"), 1, "1 of the 4 bytes of a length came: 00"},
	{TEXT("\0\0\1\x28\x82\xa1\x31\xcc\xc8\xa1\x30\xc5"), 12,
		"12 of the 300 bytes of a frame came: 00 00 01 28 82 a1 31 cc c8 a1 30 c5"},
	{TEXT("\0\1\0\0\x82\xa1\x31\xcc\xc8\xa1\x30\xc5\1\1\1\1"), 260,
		"260 of the 65540 bytes of a frame came: 00 01 00 00 82 a1 31 cc c8 a1 30 c5 01 01 "
		"01 01 ...; this looks like a little-endian 256"},
};

START_TEST(a_half_frame_shows_how_much_of_it_came)
{
	char detail[FAULT_DETAIL_SIZE];
	fault_detail_half(detail, halves[_i].bytes, halves[_i].len);
	ck_assert_str_eq(detail, halves[_i].detail);
}
END_TEST

/* Whatever came, the detail is one line of valid UTF-8, within its size. */
START_TEST(any_bytes_can_be_shown)
{
	char detail[FAULT_DETAIL_SIZE], bytes[64];
	for (size_t len = 1; len <= sizeof bytes; len++) {
		for (size_t i = 0; i < len; i++)
			bytes[i] = (char)(i % 5 ? 0x80 + ((size_t)_i * 7 + i) % 128 : (size_t)_i);
		struct text text = text_of(bytes, len);
		if (len >= WIRE_LENGTH_BYTES)
			fault_detail_length(detail, text, LIMIT);
		else
			fault_detail_half(detail, text, len);
		ck_assert(utf8_is_valid(text_from(detail)) && !strchr(detail, '\n'));
		fault_detail_frame(detail, text);
		ck_assert(utf8_is_valid(text_from(detail)) && !strchr(detail, '\n'));
		struct wire_value value = {.type = WIRE_STR,
			.bytes = {.ptr = (const uint8_t *)bytes, .len = (uint32_t)len}};
		fault_detail_value(detail, &value);
		ck_assert(utf8_is_valid(text_from(detail)) && !strchr(detail, '\n'));
	}
}
END_TEST

/* Four long keys do not fit: those that fit are whole. */
START_TEST(long_keys_are_left_out)
{
	static const uint8_t keys[] = "\xaf\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\0"
				      "\xaf\2\2\2\2\2\2\2\2\2\2\2\2\2\2\2\0"
				      "\xaf\3\3\3\3\3\3\3\3\3\3\3\3\3\3\3\0";
	char detail[FAULT_DETAIL_SIZE];
	fault_detail_keys(detail, keys, keys + sizeof keys - 1, 3);
	ck_assert_uint_lt(strlen(detail), sizeof detail);
	ck_assert_int_eq(strncmp(detail, "its keys are \"\\x01\\x01", 21), 0);
	ck_assert_ptr_null(strstr(detail, "x03"));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/fault_detail");
	TCase *each = tcase_create("each");
	tcase_add_loop_test(each, a_wrong_length_is_shown_with_what_it_looks_like, 0,
		sizeof lengths / sizeof *lengths);
	tcase_add_loop_test(
		each, a_half_frame_shows_how_much_of_it_came, 0, sizeof halves / sizeof *halves);
	tcase_add_loop_test(each, any_bytes_can_be_shown, 0, 256);
	suite_add_tcase(s, each);
	UNIT_CASE(s, "keys", long_keys_are_left_out);
	return s;
}

UNIT_MAIN(suite)
