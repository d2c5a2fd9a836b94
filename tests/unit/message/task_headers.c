/* task_write: the headers of a message as a worker gets them, as text and with their types. */
#include "unit/support/message/task.h"

#include <msgpack.h>

/* One field, as text and with its type. JSON has a head of the widest form, because it is written
 * before its length is known. */
static const struct {
	char type;
	const char *value;
	const char *text;
	const char *typed;
} field_cases[] = {
	{'t', "00", "false", "c2"},
	{'t', "01", "true", "c3"},
	{'b', "80", "-128", "d0 80"},
	{'B', "ff", "255", "cc ff"},
	{'s', "80 00", "-32768", "d1 80 00"},
	{'u', "ff ff", "65535", "cd ff ff"},
	{'I', "80 00 00 00", "-2147483648", "d2 80 00 00 00"},
	{'i', "ff ff ff ff", "4294967295", "ce ff ff ff ff"},
	{'l', "80 00 00 00 00 00 00 00", "-9223372036854775808", "d3 80 00 00 00 00 00 00 00"},
	{'L', "ff ff ff ff ff ff ff ff", "18446744073709551615", "cf ff ff ff ff ff ff ff ff"},
	{'L', "00 00 00 00 00 00 00 05", "5", "05"},
	{'f', "3d cc cc cd", "0.1", "ca 3d cc cc cd"},
	{'f', "7f c0 00 00", "NaN", "ca 7f c0 00 00"},
	{'d', "3f b9 99 99 99 99 99 9a", "0.1", "cb 3f b9 99 99 99 99 99 9a"},
	{'d', "3f d5 55 55 55 55 55 55", "0.3333333333333333", "cb 3f d5 55 55 55 55 55 55"},
	{'d', "ff f0 00 00 00 00 00 00", "-Infinity", "cb ff f0 00 00 00 00 00 00"},
	{'d', "7f f0 00 00 00 00 00 00", "Infinity", "cb 7f f0 00 00 00 00 00 00"},
	{'D', "00 00 00 00 0c", "12", "a2 '12'"},
	{'D', "02 00 00 04 d2", "12.34", "a5 '12.34'"},
	{'D', "03 ff ff ff ff", "-0.001", "a6 '-0.001'"},
	{'D', "ff 00 00 00 01", "1e-255", "a6 '1e-255'"},
	{'S', "", "", "a0"},
	{'S', "'text'", "text", "a4 'text'"},
	{'S', "'a' ff", "a\xef\xbf\xbd", "c4 02 'a' ff"},
	{'x', "'raw'", "raw", "c4 03 'raw'"},
	{'x', "ff", "\xef\xbf\xbd", "c4 01 ff"},
	{'V', "", "", "c0"},
	{'T', "00 00 00 00 65 00 00 00", "1694498816", "d6 ff 65 00 00 00"},
	{'T', "00 00 00 01 00 00 00 00", "4294967296", "d7 ff 00 00 00 01 00 00 00 00"},
	{'T', "ff ff ff ff ff ff ff ff", "18446744073709551615", "cf ff ff ff ff ff ff ff ff"},
	{'A', "", "[]", "90"},
	{'A', "'b' 01 'V' 'S' 00 00 00 01 '\"' 't' 01", "[1,null,\"\\\"\",true]",
		"94 01 c0 a1 '\"' c3"},
	{'F', "", "{}", "80"},
	{'F', "01 'k' 'd' 7f f8 00 00 00 00 00 00 01 'n' 'F' 00 00 00 04 01 'm' 'b' 07",
		"{\"k\":null,\"n\":{\"m\":7}}",
		"82 a1 'k' cb 7f f8 00 00 00 00 00 00 a1 'n' 81 a1 'm' 07"},
	{'F', "01 ff 'x' 00 00 00 01 fe", "{\"\xef\xbf\xbd\":\"\xef\xbf\xbd\"}",
		"81 a3 ef bf bd c4 01 fe"},
};

/* The only value of the headers map, which must be a str. */
static struct text only_header(const struct bytes *frame, msgpack_unpacked *unpacked)
{
	size_t offset = 0;
	ck_assert_int_eq(
		msgpack_unpack_next(unpacked, (const char *)frame->at, frame->len, &offset),
		MSGPACK_UNPACK_SUCCESS);
	msgpack_object headers = unpacked->data.via.map.ptr[3].val;
	ck_assert_int_eq(headers.type, MSGPACK_OBJECT_MAP);
	ck_assert_uint_eq(headers.via.map.size, 1);
	msgpack_object value = headers.via.map.ptr[0].val;
	ck_assert_int_eq(value.type, MSGPACK_OBJECT_STR);
	return text_of(value.via.str.ptr, value.via.str.size);
}

START_TEST(each_type_is_written_as_text_and_typed)
{
	for (size_t i = 0; i < sizeof field_cases / sizeof *field_cases; i++) {
		struct buf table;
		buf_init(&table, SIZE_MAX);
		put_hex(&table, "h", field_cases[i].type, field_cases[i].value);
		struct delivery *d = delivery_of(
			&(struct properties){0}, buf_text(&table), TEXT_NONE, TASK_LIMIT);
		ck_assert_int_eq(d->invalid, REASON_NONE);

		msgpack_unpacked unpacked;
		msgpack_unpacked_init(&unpacked);
		struct bytes frame = frame_of(d, &task_plain_options);
		ck_assert_text_eq(only_header(&frame, &unpacked), text_from(field_cases[i].text));
		msgpack_unpacked_destroy(&unpacked);

		struct task_options options = task_plain_options;
		options.headers = TASK_HEADERS_TYPED;
		char expected[512];
		snprintf(expected, sizeof expected,
			"84 a1'0' a0 a1'1' a0 a1'2' a1'q' a1'3' 81 a1'h' %s", field_cases[i].typed);
		assert_frame(d, &options, expected, field_cases[i].text);
		delivery_free(d);
		buf_release(&table);
	}
}
END_TEST

static const struct {
	const char *key;
	bool stripped;
} strip_cases[] = {
	{"CC", true},
	{"BCC", true},
	{"x-death", true},
	{"x-first-death-queue", true},
	{"x-first-death-", true},
	{"x-last-death-reason", true},
	{"x-delivery-count", true},
	{"x-acquired-count", true},
	{"x-wpool-attempt", true},
	{"x-wpool-anything", true},
	{"cc", false},
	{"CCC", false},
	{"x-deaths", false},
	{"x-first-deat", false},
	{"x-delivery-counts", false},
	{"x-wpool", false},
	{"traceparent", false},
	{"TimeoutMilliseconds", false},
	{"", false},
};

START_TEST(reserved_headers_are_removed_from_text)
{
	for (size_t i = 0; i < sizeof strip_cases / sizeof *strip_cases; i++) {
		struct buf table;
		buf_init(&table, SIZE_MAX);
		table_put_string(&table, text_from(strip_cases[i].key), TEXT("v"));
		struct delivery *d = delivery_of(
			&(struct properties){0}, buf_text(&table), TEXT_NONE, TASK_LIMIT);
		struct task_options options = task_plain_options;
		for (int typed = 0; typed < 2; typed++) {
			options.headers = typed ? TASK_HEADERS_TYPED : TASK_HEADERS_TEXT;
			char expected[256];
			snprintf(expected, sizeof expected,
				"84 a1'0' a0 a1'1' a0 a1'2' a1'q' a1'3' 81 %02x '%s' a1'v'",
				0xa0 + (unsigned)strlen(strip_cases[i].key), strip_cases[i].key);
			assert_frame(d, &options,
				strip_cases[i].stripped && !typed
					? "84 a1'0' a0 a1'1' a0 a1'2' a1'q' a1'3' 80"
					: expected,
				strip_cases[i].key);
		}
		delivery_free(d);
		buf_release(&table);
	}
}
END_TEST

/* Keys that are equal after the repair of their UTF-8: the last field is written. */
static const struct {
	const char *keys[4];
	const char *headers; /* the values are 1, 2, 3, 4 */
} twice_cases[] = {
	{{"a", "b", "a"}, "82 a1'b' a1'2' a1'a' a1'3'"},
	{{"a", "a", "a", "a"}, "81 a1'a' a1'4'"},
	{{"a", "ab", "b", "A"}, "84 a1'a' a1'1' a2'ab' a1'2' a1'b' a1'3' a1'A' a1'4'"},
	{{"\xff", "\xfe"}, "81 a3 ef bf bd a1'2'"},
	{{"k\xe9", "k\xef\xbf\xbd", "k\xc3\xa9"}, "82 a4'k' ef bf bd a1'2' a3'k' c3 a9 a1'3'"},
	{{"\xff", "\xff\xff",
		 "\xff"
		 "a"},
		"83 a3 ef bf bd a1'1' a6 ef bf bd ef bf bd a1'2' "
		"a4 ef bf bd 'a' a1'3'"},
};

START_TEST(the_last_of_equal_keys_is_written)
{
	for (size_t i = 0; i < sizeof twice_cases / sizeof *twice_cases; i++) {
		struct buf table;
		char hex[256], label[16];
		buf_init(&table, SIZE_MAX);
		for (size_t k = 0; k < 4 && twice_cases[i].keys[k]; k++)
			table_put_string(
				&table, text_from(twice_cases[i].keys[k]), text_of(&"1234"[k], 1));
		struct delivery *d = delivery_of(
			&(struct properties){0}, buf_text(&table), TEXT_NONE, TASK_LIMIT);
		snprintf(hex, sizeof hex, "84 a1'0' a0 a1'1' a0 a1'2' a1'q' a1'3' %s",
			twice_cases[i].headers);
		snprintf(label, sizeof label, "twice %zu", i);
		assert_frame(d, &task_plain_options, hex, label);
		delivery_free(d);
		buf_release(&table);
	}
}
END_TEST

START_TEST(as_many_fields_as_a_table_has_are_written)
{
	struct buf table;
	buf_init(&table, SIZE_MAX);
	for (int i = 0; i < TABLE_FIELDS_MAX; i++) {
		char key[16];
		snprintf(key, sizeof key, "key%d", i);
		table_put_bool(&table, text_from(key), true);
	}
	struct delivery *d =
		delivery_of(&(struct properties){0}, buf_text(&table), TEXT_NONE, TASK_LIMIT);
	struct buf out;
	buf_init(&out, 1 << 20);
	ck_assert_int_eq(task_write(d, &task_plain_options, 1, 0, &out, NULL), RC_OK);
	msgpack_unpacked unpacked;
	msgpack_unpacked_init(&unpacked);
	size_t offset = WIRE_LENGTH_BYTES;
	ck_assert_int_eq(msgpack_unpack_next(&unpacked, buf_text(&out).ptr, buf_len(&out), &offset),
		MSGPACK_UNPACK_SUCCESS);
	ck_assert_uint_eq(unpacked.data.via.map.ptr[3].val.via.map.size, TABLE_FIELDS_MAX);
	msgpack_unpacked_destroy(&unpacked);
	buf_release(&out);
	delivery_free(d);
	buf_release(&table);
}
END_TEST

/* Tables in tables, as deep as table_check allows: the frame stays within its own limit of depth,
 * and deeper tables are text. */
START_TEST(deep_tables_become_text)
{
	struct buf table;
	buf_init(&table, SIZE_MAX);
	char inner[512] = "01 'k' 'b' 01";
	for (int level = 0; level < TABLE_DEPTH_MAX - 1; level++) {
		struct bytes value = from_hex(inner);
		buf_clear(&table);
		table_put_field(&table, &(struct table_field){TEXT("k"), 'F', bytes_text(&value)});
		size_t at = 0;
		for (size_t i = 0; i < buf_len(&table); i++)
			at += (size_t)snprintf(
				inner + at, sizeof inner - at, "%02x", table.bytes[i]);
	}
	struct delivery *d =
		delivery_of(&(struct properties){0}, buf_text(&table), TEXT_NONE, TASK_LIMIT);
	ck_assert_int_eq(d->invalid, REASON_NONE);
	struct task_options options = task_plain_options;
	options.headers = TASK_HEADERS_TYPED;
	assert_frame(d, &options,
		"84 a1'0' a0 a1'1' a0 a1'2' a1'q' a1'3' 81 a1'k' 81 a1'k' 81 a1'k' 81 a1'k' 81 "
		"a1'k' 81 a1'k' 81 a1'k' 81 a1'k' 81 a1'k' 81 a1'k' 81 a1'k' 81 a1'k' 81 a1'k' 81 "
		"a1'k' 81 a1'k' db 00 00 00 07 '{\"k\":1}'",
		"depth");
	delivery_free(d);
	buf_release(&table);
}
END_TEST

/* A limit in the message stays, also if it is invalid. */
START_TEST(the_soft_limit_of_the_pool_is_added_if_there_is_none)
{
	static const struct {
		enum task_headers how;
		const char *own; /* NULL: none */
		const char *hex; /* of the headers */
	} limits[] = {
		{TASK_HEADERS_TEXT, NULL, "82 b3'TimeoutMilliseconds' a5'30000' a1'k' a0"},
		{TASK_HEADERS_TYPED, NULL, "82 b3'TimeoutMilliseconds' cd 75 30 a1'k' c0"},
		{TASK_HEADERS_TEXT, "-1", "82 a1'k' a0 b3'TimeoutMilliseconds' a2'-1'"},
		{TASK_HEADERS_TYPED, "7", "82 a1'k' c0 b3'TimeoutMilliseconds' a1'7'"},
	};
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		struct task_options options = task_plain_options;
		struct buf table;
		char hex[200];
		buf_init(&table, SIZE_MAX);
		put_hex(&table, "k", 'V', "");
		if (limits[i].own)
			table_put_string(
				&table, TEXT("TimeoutMilliseconds"), text_from(limits[i].own));
		struct delivery *d = delivery_of(
			&(struct properties){0}, buf_text(&table), TEXT_NONE, TASK_LIMIT);
		options.headers = limits[i].how;
		options.soft_ms = 30000;
		snprintf(hex, sizeof hex, "84 a1'0' a0 a1'1' a0 a1'2' a1'q' a1'3' %s",
			limits[i].hex);
		assert_frame(d, &options, hex, limits[i].hex);
		delivery_free(d);
		buf_release(&table);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/task_headers");
	UNIT_CASE(s, "types", each_type_is_written_as_text_and_typed, deep_tables_become_text);
	UNIT_CASE(s, "soft limit", the_soft_limit_of_the_pool_is_added_if_there_is_none);
	UNIT_CASE(s, "keys", reserved_headers_are_removed_from_text,
		the_last_of_equal_keys_is_written, as_many_fields_as_a_table_has_are_written);
	return s;
}

UNIT_MAIN(suite)
