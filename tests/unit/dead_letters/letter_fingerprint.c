/* The fingerprint of a dead letter is the same as long as it lies in its queue, and that of no
 * other message. */
#include "dead_letters/letter_fingerprint.h"

#include "amqp/table.h"
#include "unit/unit.h"

static struct buf headers, raw;

static void set_up(void)
{
	buf_init(&headers, SIZE_MAX);
	buf_init(&raw, SIZE_MAX);
}

static void tear_down(void)
{
	buf_release(&headers);
	buf_release(&raw);
}

struct shown {
	char text[FINGERPRINT_SIZE];
};

/* Of a message with these properties and with the headers. */
static struct shown fingerprint(struct properties properties, const char *key, const char *body)
{
	struct dead_letter letter;
	struct shown shown;

	if (buf_len(&headers) > 0)
		properties_set(&properties, PROPERTY_HEADERS, buf_text(&headers));
	buf_clear(&raw);
	properties_write(&properties, &raw);
	dead_letter_read(&letter,
		&(struct amqp_event){.kind = AMQP_DELIVERY,
			.exchange = TEXT("x"),
			.routing_key = text_from(key),
			.content = {NULL, buf_text(&raw), text_from(body)}},
		1);
	ck_assert(dead_letter_fingerprint(&letter, shown.text));
	ck_assert(fingerprint_is_valid(text_from(shown.text)));
	return shown;
}

static struct properties with(enum property property, const char *value)
{
	struct properties properties = {0};

	properties_set(&properties, property, text_from(value));
	return properties;
}

static struct shown plain(void)
{
	return fingerprint((struct properties){0}, "key", "body");
}

static void expect_same(struct shown a, struct shown b)
{
	ck_assert_str_eq(a.text, b.text);
}

static void expect_other(struct shown a, struct shown b)
{
	ck_assert_str_ne(a.text, b.text);
}

static void expect(struct shown shown, const char *text)
{
	ck_assert_str_eq(shown.text, text);
}

/* By another implementation: hashlib of Python. */
START_TEST(it_is_half_of_a_sha_256)
{
	expect(plain(), "824dbc2a31ff7957d5d187d808725d9a");
	table_put_string(&headers, TEXT("a"), TEXT("1"));
	table_put_string(&headers, TEXT("b"), TEXT("2"));
	expect(fingerprint(with(PROPERTY_MESSAGE_ID, "m-1"), "key", "body"),
		"92d62c083cba6d814369bea81b13275a");
}
END_TEST

START_TEST(every_part_counts)
{
	struct shown first = plain();
	expect_same(plain(), first);
	expect_other(fingerprint((struct properties){0}, "key", "bodY"), first);
	expect_other(fingerprint((struct properties){0}, "keY", "body"), first);
	expect_other(fingerprint((struct properties){0}, "keyb", "ody"), first);
	expect_other(fingerprint(with(PROPERTY_TYPE, ""), "key", "body"), first);
	expect_other(fingerprint(with(PROPERTY_TYPE, "t"), "key", "body"),
		fingerprint(with(PROPERTY_APP_ID, "t"), "key", "body"));
	table_put_string(&headers, TEXT("a"), TEXT("1"));
	first = plain();
	table_put_string(&headers, TEXT("a"), TEXT("1"));
	expect_other(plain(), first);
}
END_TEST

/* What a quorum queue changes when a message is handed back. */
START_TEST(order_and_counters_of_headers_do_not_count)
{
	struct shown first;
	table_put_string(&headers, TEXT("a"), TEXT("1"));
	table_put_string(&headers, TEXT("b"), TEXT("2"));
	first = plain();
	buf_clear(&headers);
	table_put_string(&headers, TEXT("b"), TEXT("2"));
	table_put_integer(&headers, TEXT("x-delivery-count"), 3);
	table_put_string(&headers, TEXT("a"), TEXT("1"));
	table_put_integer(&headers, TEXT("x-acquired-count"), 4);
	expect_same(plain(), first);
}
END_TEST

START_TEST(counters_of_a_message_without_headers_do_not_count)
{
	struct shown first = plain();
	table_put_integer(&headers, TEXT("x-delivery-count"), 1);
	expect_same(plain(), first);
}
END_TEST

/* One table in another. */
static void put_nested(unsigned depth)
{
	static struct buf inner;

	buf_init(&inner, SIZE_MAX);
	for (unsigned i = 0; i < depth; i++) {
		struct buf outer;
		buf_init(&outer, SIZE_MAX);
		table_put_field(
			&outer, &(struct table_field){
					.key = TEXT("n"), .type = 'F', .value = buf_text(&inner)});
		buf_release(&inner);
		inner = outer;
	}
	buf_append_text(&headers, buf_text(&inner));
	buf_release(&inner);
}

static void put_many(void)
{
	for (unsigned i = 0; i <= TABLE_FIELDS_MAX; i++)
		table_put_integer(&headers, TEXT("i"), i);
}

static void put_deep(void)
{
	put_nested(TABLE_DEPTH_MAX + 1);
}

START_TEST(counters_beside_too_many_headers_do_not_count)
{
	static void (*const puts[])(void) = {put_many, put_deep};
	struct shown first;
	puts[_i]();
	table_put_string(&headers, TEXT("a"), TEXT("1"));
	ck_assert_int_eq(table_check(buf_text(&headers)), RC_LIMIT);
	first = plain();
	buf_clear(&headers);
	table_put_string(&headers, TEXT("a"), TEXT("1"));
	table_put_integer(&headers, TEXT("x-delivery-count"), 1);
	puts[_i]();
	expect_same(plain(), first);
	table_put_string(&headers, TEXT("b"), TEXT("1"));
	expect_other(plain(), first);
}
END_TEST

START_TEST(what_is_unreadable_counts)
{
	struct shown first;
	buf_append_text(&headers, TEXT("\1k?"));
	first = plain();
	buf_clear(&headers);
	buf_append_text(&headers, TEXT("\1k!"));
	expect_other(plain(), first);
	buf_clear(&headers);
	expect_other(plain(), first);
}
END_TEST

START_TEST(texts_that_are_none_are_refused)
{
	static const char *const wrong[] = {"", "0123456789abcdef",
		"0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdef0",
		"0123456789abcdef0123456789abcdeF", "0x23456789abcdef0123456789abcdef",
		" 123456789abcdef0123456789abcdef"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(!fingerprint_is_valid(text_from(wrong[i])), "%s", wrong[i]);
	ck_assert(!fingerprint_is_valid(
		text_of("0123456789abcdef0123456789abcde", FINGERPRINT_DIGITS))); /* a NUL */
	ck_assert(fingerprint_is_valid(TEXT("0123456789abcdef0123456789abcdef")));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("dead_letters/letter_fingerprint");
	TCase *tcase = tcase_create("fingerprint");
	const TTest *tests[] = {it_is_half_of_a_sha_256, every_part_counts,
		order_and_counters_of_headers_do_not_count,
		counters_of_a_message_without_headers_do_not_count, what_is_unreadable_counts,
		texts_that_are_none_are_refused};

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(tcase, tests[i]);
	tcase_add_loop_test(tcase, counters_beside_too_many_headers_do_not_count, 0, 2);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
