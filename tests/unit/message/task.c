/* task_write: the frame that a worker reads, byte for byte, for every kind of body, and its sizes.
 */
#include "unit/support/message/task.h"
#include <stdio.h>

static const struct {
	const char *body;
	enum task_body how;
	const char *packed;
} body_cases[] = {
	{"", TASK_BODY_AUTO, "a0"},
	{"", TASK_BODY_STR, "a0"},
	{"", TASK_BODY_BIN, "c4 00"},
	{"'hi'", TASK_BODY_AUTO, "a2 'hi'"},
	{"'hi'", TASK_BODY_STR, "a2 'hi'"},
	{"'hi'", TASK_BODY_BIN, "c4 02 'hi'"},
	{"00", TASK_BODY_AUTO, "a1 00"},
	{"c3 a9", TASK_BODY_AUTO, "a2 c3 a9"},
	{"ff", TASK_BODY_AUTO, "c4 01 ff"},
	{"ff", TASK_BODY_STR, "a3 ef bf bd"},
	{"ed a0 80", TASK_BODY_AUTO, "c4 03 ed a0 80"},
	{"c0 80", TASK_BODY_AUTO, "c4 02 c0 80"},
	{"'a' e2 82 'b'", TASK_BODY_STR, "a5 'a' ef bf bd 'b'"},
};

START_TEST(each_form_of_body_is_written)
{
	for (size_t i = 0; i < sizeof body_cases / sizeof *body_cases; i++) {
		struct bytes body = from_hex(body_cases[i].body);
		struct delivery *d = delivery_of(
			&(struct properties){0}, TEXT_NONE, bytes_text(&body), TASK_LIMIT);
		struct task_options options = task_plain_options;
		options.body = body_cases[i].how;
		char expected[256];
		snprintf(expected, sizeof expected, "84 a1'0' %s a1'1' a0 a1'2' a1'q' a1'3' 80",
			body_cases[i].packed);
		assert_frame(d, &options, expected, body_cases[i].body);
		delivery_free(d);
	}
}
END_TEST

START_TEST(ill_formed_names_are_repaired)
{
	struct properties properties = {0};
	struct bytes bad = from_hex("'a' ff");
	struct buf table;
	buf_init(&table, SIZE_MAX);
	/* whatever a publisher forges, the queue is the pool's */
	table_put_string(&table, TEXT("x-wpool-queue"), TEXT("first"));
	properties_set(&properties, PROPERTY_CORRELATION_ID, TEXT("id"));
	struct delivery *d = delivery_of(&properties, buf_text(&table), TEXT_NONE, TASK_LIMIT);
	assert_frame(
		d, &task_plain_options, "84 a1'0' a0 a1'1' a2'id' a1'2' a1'q' a1'3' 80", "names");
	delivery_free(d);

	struct task_options options = task_plain_options;
	options.queue = bytes_text(&bad);
	properties_set(&properties, PROPERTY_CORRELATION_ID, bytes_text(&bad));
	d = delivery_of(&properties, TEXT_NONE, TEXT_NONE, TASK_LIMIT);
	assert_frame(d, &options, "84 a1'0' a0 a1'1' a4'a' efbfbd a1'2' a4'a' efbfbd a1'3' 80",
		"bad names");
	delivery_free(d);
	buf_release(&table);
}
END_TEST

START_TEST(properties_are_written_if_wanted)
{
	struct properties properties = {0};
	struct task_options options = task_plain_options;
	options.properties = true;
	options.attempts = 5;
	struct delivery *d = delivery_of(&properties, TEXT_NONE, TEXT_NONE, TASK_LIMIT);
	assert_frame(d, &options,
		"85 a1'0' a0 a1'1' a0 a1'2' a1'q' a1'3' 80 a1'6' 85 a8'exchange' a0 "
		"ab'routing_key' a0 ab'redelivered' c2 a7'attempt' 01 a8'attempts' 05",
		"no properties");
	delivery_free(d);

	properties_set(&properties, PROPERTY_MESSAGE_ID, TEXT("m"));
	properties_set(&properties, PROPERTY_TYPE, TEXT("t"));
	properties_set(&properties, PROPERTY_APP_ID, TEXT("a"));
	properties_set(&properties, PROPERTY_CONTENT_TYPE, TEXT("c"));
	properties_set(&properties, PROPERTY_CONTENT_ENCODING, TEXT("e"));
	properties_set(&properties, PROPERTY_REPLY_TO, TEXT("\xff"));
	properties_set(&properties, PROPERTY_TIMESTAMP, text_of("\0\0\0\0\0\0\1\0", 8));
	properties_set(&properties, PROPERTY_PRIORITY, TEXT("\5"));
	properties_set(&properties, PROPERTY_USER_ID, TEXT("u"));
	d = delivery_of(&properties, TEXT_NONE, TEXT_NONE, TASK_LIMIT);
	d->exchange = TEXT("x");
	d->routing_key = TEXT("r");
	d->redelivered = true;
	struct buf out;
	buf_init(&out, TASK_LIMIT);
	ck_assert_int_eq(task_write(d, &options, 3, 60000, &out, NULL), RC_OK);
	struct bytes expected = from_hex(
		"85 a1'0' a0 a1'1' a0 a1'2' a1'q' a1'3' 80 a1'6' 8e aa'message_id' a1'm' a4'type' "
		"a1't' a6'app_id' a1'a' ac'content_type' a1'c' b0'content_encoding' a1'e' "
		"a8'reply_to' a3 efbfbd a9'timestamp' cd 01 00 a8'priority' 05 a8'exchange' a1'x' "
		"ab'routing_key' a1'r' ab'redelivered' c3 a7'attempt' 03 a8'attempts' 05 "
		"ab'deadline_ms' cd ea60");
	buf_consume(&out, WIRE_LENGTH_BYTES);
	ck_assert_uint_eq(buf_len(&out), expected.len);
	ck_assert_mem_eq(buf_text(&out).ptr, expected.at, expected.len);
	buf_release(&out);
	delivery_free(d);
}
END_TEST

START_TEST(the_key_of_a_session_stands_behind_the_headers)
{
	static const struct key_source source = {.kind = KEY_HEADER, .header = {"s", 1}};
	struct task_options options = task_plain_options;
	struct buf table;
	buf_init(&table, SIZE_MAX);
	table_put_string(&table, TEXT("s"), TEXT("k-1"));
	struct delivery *d =
		delivery_of_session(&(struct properties){0}, buf_text(&table), TEXT_NONE, &source);
	assert_frame(d, &options,
		"85 a1'0' a0 a1'1' a0 a1'2' a1'q' a1'3' 81 a1's' a3'k-1' a1'4' a3'k-1'", "a key");
	options.properties = options.has_id = true;
	d->id = 1;
	assert_frame(d, &options,
		"87 a1'0' a0 a1'1' a0 a1'2' a1'q' a1'3' 81 a1's' a3'k-1' a1'4' a3'k-1' "
		"a1'6' 85 a8'exchange' a0 ab'routing_key' a0 ab'redelivered' c2 a7'attempt' 01 "
		"a8'attempts' 00 "
		"a1'7' 01",
		"a key among all members");
	delivery_free(d);
	buf_clear(&table);
	put_hex(&table, "s", 'b', "ff");
	d = delivery_of_session(&(struct properties){0}, buf_text(&table), TEXT_NONE, &source);
	options = task_plain_options;
	options.headers = TASK_HEADERS_TYPED;
	assert_frame(d, &options, "85 a1'0' a0 a1'1' a0 a1'2' a1'q' a1'3' 81 a1's' ff a1'4' a2'-1'",
		"an integer");
	delivery_free(d);
	buf_release(&table);
}
END_TEST

static const struct {
	uint64_t id;
	bool has_id, properties;
	const char *hex; /* behind the headers */
} id_cases[] = {
	{0, true, false, ""},
	{5, false, false, ""},
	{1, true, false, "a1'7' 01"},
	{128, true, false, "a1'7' cc 80"},
	{1000, true, false, "a1'7' cd 03 e8"},
	{UINT32_MAX, true, false, "a1'7' ce ff ff ff ff"},
	{UINT64_MAX, true, false, "a1'7' cf ff ff ff ff ff ff ff ff"},
	{1, true, true,
		"a1'6' 85 a8'exchange' a0 ab'routing_key' a0 ab'redelivered' c2 a7'attempt' 01 "
		"a8'attempts' 00 "
		"a1'7' 01"},
};

START_TEST(the_id_is_the_last_member)
{
	struct delivery *d = delivery_of(&(struct properties){0}, TEXT_NONE, TEXT_NONE, TASK_LIMIT);
	for (size_t i = 0; i < sizeof id_cases / sizeof *id_cases; i++) {
		struct task_options options = task_plain_options;
		char expected[512], label[16];
		options.has_id = id_cases[i].has_id;
		options.properties = id_cases[i].properties;
		d->id = id_cases[i].id;
		snprintf(label, sizeof label, "case %zu", i);
		snprintf(expected, sizeof expected, "8%d a1'0' a0 a1'1' a0 a1'2' a1'q' a1'3' 80 %s",
			4 + options.properties + (*id_cases[i].hex != 0 && d->id > 0),
			id_cases[i].hex);
		assert_frame(d, &options, expected, label);
	}
	delivery_free(d);
}
END_TEST

/* 0 bytes, 16 MiB, and each side of the frame limit; the frame around an empty body
 * takes 15 bytes, around a large one 18. A refused task adds no bytes. */
static const struct {
	size_t body;
	size_t limit;
	enum rc expected;
} size_cases[] = {
	{0, 15, RC_OK},
	{0, 14, RC_LIMIT},
	{16u << 20, (16u << 20) + 18, RC_OK},
	{16u << 20, (16u << 20) + 17, RC_LIMIT},
	{16u << 20, (16u << 20) - 1, RC_LIMIT},
	{16u << 20, (17u << 20), RC_OK},
};

START_TEST(a_frame_over_the_limit_is_refused)
{
	for (size_t i = 0; i < sizeof size_cases / sizeof *size_cases; i++) {
		char *body = calloc(1, size_cases[i].body + 1);
		struct delivery *d = delivery_of(&(struct properties){0}, TEXT_NONE,
			text_of(body, size_cases[i].body), 16u << 20);
		struct task_options options = task_plain_options;
		options.body = TASK_BODY_BIN;
		options.frame_limit = size_cases[i].limit;
		struct buf out;
		buf_init(&out, 32u << 20);
		buf_append_text(&out, TEXT("kept"));
		enum rc rc = task_write(d, &options, 1, 0, &out, NULL);
		ck_assert_msg(rc == size_cases[i].expected, "case %zu: %s", i, rc_text(rc));
		ck_assert(!out.failed);
		if (rc != RC_OK)
			ck_assert_text_eq(buf_text(&out), TEXT("kept"));
		else
			ck_assert_uint_le(buf_len(&out), 4 + 4 + size_cases[i].limit);
		buf_release(&out);
		delivery_free(d);
		free(body);
	}
}
END_TEST

/* A repaired body is three times as long, and that length counts. */
START_TEST(a_repaired_body_counts_with_its_new_size)
{
	char body[1000];
	memset(body, 0xff, sizeof body);
	struct delivery *d = delivery_of(
		&(struct properties){0}, TEXT_NONE, text_of(body, sizeof body), TASK_LIMIT);
	struct task_options options = task_plain_options;
	options.body = TASK_BODY_STR;
	struct buf out;
	buf_init(&out, TASK_LIMIT);
	for (options.frame_limit = 2999; options.frame_limit < 3016; options.frame_limit++) {
		ck_assert_int_eq(task_write(d, &options, 1, 0, &out, NULL), RC_LIMIT);
		ck_assert_uint_eq(buf_len(&out), 0);
	}
	ck_assert_int_eq(task_write(d, &options, 1, 0, &out, NULL), RC_OK);
	buf_release(&out);
	delivery_free(d);
}
END_TEST

/* A buffer that is too full at any byte of the task refuses the whole task, which may be sent
 * later. */
START_TEST(a_full_buffer_takes_nothing)
{
	struct buf table;
	buf_init(&table, SIZE_MAX);
	put_hex(&table, "list", 'A', "'b' 01 'b' 02");
	struct delivery *d =
		delivery_of(&(struct properties){0}, buf_text(&table), TEXT("body"), TASK_LIMIT);
	size_t needed = frame_of(d, &task_plain_options).len + WIRE_LENGTH_BYTES;
	for (size_t limit = 1; limit < needed + 4; limit++) {
		struct buf out;
		buf_init(&out, limit);
		buf_append_byte(&out, 'k');
		enum rc expected = limit < needed + 1 ? RC_MEMORY : RC_OK;
		ck_assert_int_eq(task_write(d, &task_plain_options, 1, 0, &out, NULL), expected);
		ck_assert(!out.failed);
		ck_assert_uint_eq(buf_len(&out), expected == RC_OK ? needed + 1 : 1);
		buf_release(&out);
	}
	delivery_free(d);
	buf_release(&table);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/task");
	UNIT_CASE(s, "frame", each_form_of_body_is_written, ill_formed_names_are_repaired,
		properties_are_written_if_wanted, the_id_is_the_last_member,
		the_key_of_a_session_stands_behind_the_headers);
	UNIT_CASE(s, "sizes", a_frame_over_the_limit_is_refused,
		a_repaired_body_counts_with_its_new_size, a_full_buffer_takes_nothing);
	return s;
}

UNIT_MAIN(suite)
