/* The basic properties on raw bytes, held against rabbitmq-c's codec. */
#include "amqp/properties.h"
#include "unit/support/amqp/peer.h"
#include "unit/unit.h"

#include <signal.h>

#define CLASS_BASIC 60

static struct buf bytes;

static void set_up(void)
{
	buf_init(&bytes, 1u << 20);
}

static void tear_down(void)
{
	ck_assert(!bytes.failed);
	buf_release(&bytes);
}

static struct text encoded(uint16_t flags, uint8_t *buffer, size_t len)
{
	static amqp_table_entry_t header;
	amqp_basic_properties_t p = {
		._flags = flags,
		.content_type = peer_string("text/plain"),
		.content_encoding = peer_string("utf-8"),
		.headers = {1, &header},
		.delivery_mode = 2,
		.priority = 9,
		.correlation_id = peer_string("correlation"),
		.reply_to = peer_string("amq.rabbitmq.reply-to"),
		.expiration = peer_string("60000"),
		.message_id = peer_string("id"),
		.timestamp = 1700000000123,
		.type = peer_string("kind"),
		.user_id = peer_string("guest"),
		.app_id = peer_string(""),
		.cluster_id = peer_string("17"),
	};

	header = (amqp_table_entry_t){peer_string("n"), {.kind = 'l', .value.i64 = 5}};
	int written = amqp_encode_properties(CLASS_BASIC, &p, (amqp_bytes_t){len, buffer});
	ck_assert_int_gt(written, 0);
	return text_of(buffer, (size_t)written);
}

static void value_is(const struct properties *p, enum property property, struct text expected)
{
	ck_assert(properties_has(p, property));
	ck_assert(text_is(p->value[property], expected));
}

START_TEST(all_properties_are_parsed)
{
	uint8_t buffer[1024];
	struct properties p;

	ck_assert_int_eq(properties_parse(encoded(0xfffc, buffer, sizeof buffer), &p), RC_OK);
	value_is(&p, PROPERTY_CONTENT_TYPE, TEXT("text/plain"));
	value_is(&p, PROPERTY_CONTENT_ENCODING, TEXT("utf-8"));
	value_is(&p, PROPERTY_HEADERS, TEXT("\1nl\0\0\0\0\0\0\0\5"));
	value_is(&p, PROPERTY_CORRELATION_ID, TEXT("correlation"));
	value_is(&p, PROPERTY_REPLY_TO, TEXT("amq.rabbitmq.reply-to"));
	value_is(&p, PROPERTY_EXPIRATION, TEXT("60000"));
	value_is(&p, PROPERTY_MESSAGE_ID, TEXT("id"));
	value_is(&p, PROPERTY_TYPE, TEXT("kind"));
	value_is(&p, PROPERTY_USER_ID, TEXT("guest"));
	value_is(&p, PROPERTY_APP_ID, TEXT(""));
	value_is(&p, PROPERTY_CLUSTER_ID, TEXT("17"));
	ck_assert_uint_eq(properties_timestamp(&p), 1700000000123);
	ck_assert_uint_eq(properties_octet(&p, PROPERTY_DELIVERY_MODE), 2);
	ck_assert_uint_eq(properties_octet(&p, PROPERTY_PRIORITY), 9);
}
END_TEST

START_TEST(absent_property_reads_as_zero)
{
	struct properties p;

	ck_assert_int_eq(properties_parse(TEXT("\0\0"), &p), RC_OK);
	ck_assert_uint_eq(p.present, 0);
	ck_assert_uint_eq(properties_timestamp(&p), 0);
	ck_assert_uint_eq(properties_octet(&p, PROPERTY_PRIORITY), 0);
}
END_TEST

/* All 16,384 sets of properties are written as the bytes that were parsed. */
START_TEST(every_set_of_properties_round_trips)
{
	for (unsigned flags = 0; flags <= 0xfffc; flags += 4) {
		uint8_t buffer[1024];
		struct text raw = encoded((uint16_t)flags, buffer, sizeof buffer);
		struct properties p;

		ck_assert_int_eq(properties_parse(raw, &p), RC_OK);
		buf_clear(&bytes);
		properties_write(&p, &bytes);
		ck_assert(text_is(buf_text(&bytes), raw));
		ck_assert_uint_eq(properties_size(&p), raw.len);
	}
}
END_TEST

START_TEST(every_cut_and_excess_is_malformed)
{
	uint8_t buffer[1024];
	struct text raw = encoded(0xfffc, buffer, sizeof buffer);
	struct properties p = {.present = 0x5555};

	for (size_t len = 0; len < raw.len; len++) {
		char *exact = malloc(len + 1);

		ck_assert_ptr_nonnull(exact);
		memcpy(exact + 1, raw.ptr, len);
		ck_assert_int_eq(properties_parse(text_of(exact + 1, len), &p), RC_MALFORMED);
		free(exact);
	}
	buffer[raw.len] = 0;
	ck_assert_int_eq(properties_parse(text_of(buffer, raw.len + 1), &p), RC_MALFORMED);
	ck_assert_uint_eq(p.present, 0x5555);
}
END_TEST

static const struct text malformed[] = {
	{"", 0}, {"\200", 1}, {"\0\1\0\0", 4},                     /* a second flags word */
	{"\0\2", 2},                                               /* no such property */
	{"\200\0\5abc", 6},                                        /* content type over the end */
	{"\40\0\0\0\0\5abcd", 10},                                 /* headers over the end */
	{"\40\0\377\377\377\377", 6}, {"\0\100\0\0\0\0\0\0\0", 9}, /* timestamp one octet short */
	{"\20\0", 2},                                              /* delivery mode missing */
};

START_TEST(malformed_bytes_are_rejected)
{
	struct properties p;

	ck_assert_int_eq(properties_parse(malformed[_i], &p), RC_MALFORMED);
}
END_TEST

/* The message layer checks the header table. */
START_TEST(bad_header_table_is_not_checked)
{
	struct properties p;

	ck_assert_int_eq(properties_parse(TEXT("\40\0\0\0\0\4\3bad"), &p), RC_OK);
	value_is(&p, PROPERTY_HEADERS, TEXT("\3bad"));
}
END_TEST

START_TEST(changes_are_written)
{
	uint8_t buffer[1024];
	struct properties p, again;

	ck_assert_int_eq(properties_parse(encoded(0xfffc, buffer, sizeof buffer), &p), RC_OK);
	properties_clear(&p, PROPERTY_USER_ID);
	properties_clear(&p, PROPERTY_HEADERS);
	properties_clear(&p, PROPERTY_HEADERS);
	properties_set(&p, PROPERTY_CLUSTER_ID, TEXT("99"));
	properties_set(&p, PROPERTY_DELIVERY_MODE, TEXT("\1"));
	properties_write(&p, &bytes);
	ck_assert_int_eq(properties_parse(buf_text(&bytes), &again), RC_OK);
	ck_assert(!properties_has(&again, PROPERTY_USER_ID));
	ck_assert(!properties_has(&again, PROPERTY_HEADERS));
	value_is(&again, PROPERTY_CLUSTER_ID, TEXT("99"));
	value_is(&again, PROPERTY_REPLY_TO, TEXT("amq.rabbitmq.reply-to"));
	ck_assert_uint_eq(properties_octet(&again, PROPERTY_DELIVERY_MODE), 1);
}
END_TEST

/* Written with a shorter length, the rest of it would be read as other properties. */
START_TEST(a_string_that_is_too_long_aborts)
{
	static const char longest[SHORT_STRING_MAX + 1];
	struct properties p = {0};

	properties_set(&p, PROPERTY_CONTENT_TYPE, text_of(longest, SHORT_STRING_MAX));
	properties_write(&p, &bytes);
	ck_assert_uint_eq(buf_len(&bytes), 2 + 1 + SHORT_STRING_MAX);
	properties_set(&p, PROPERTY_CONTENT_TYPE, text_of(longest, sizeof longest));
}
END_TEST

static Suite *properties_suite(void)
{
	Suite *suite = suite_create("amqp/properties");
	TCase *raw = tcase_create("raw");

	tcase_add_checked_fixture(raw, set_up, tear_down);
	tcase_add_test(raw, all_properties_are_parsed);
	tcase_add_test(raw, absent_property_reads_as_zero);
	tcase_add_test(raw, every_set_of_properties_round_trips);
	tcase_add_test(raw, every_cut_and_excess_is_malformed);
	tcase_add_loop_test(
		raw, malformed_bytes_are_rejected, 0, sizeof malformed / sizeof *malformed);
	tcase_add_test(raw, bad_header_table_is_not_checked);
	tcase_add_test(raw, changes_are_written);
	tcase_add_test_raise_signal(raw, a_string_that_is_too_long_aborts, SIGABRT);
	suite_add_tcase(suite, raw);
	return suite;
}

UNIT_MAIN(properties_suite)
