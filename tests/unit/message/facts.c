/* task_read_facts: what the pool reads from the properties of a message, and that malformed and
 * forged headers are ignored. */
#include "unit/support/message/message.h"

static const struct {
	const char *key;
	char type;
	const char *hex;
	uint16_t attempt;
	uint32_t slice, returns;
} cases[] = {
	{"x-wpool-attempt", 'l', "00 00 00 00 00 00 00 02", 2, 0, 0},
	{"x-wpool-attempt", 'I', "00 00 00 02", 2, 0, 0},
	{"x-wpool-attempt", 'b', "02", 2, 0, 0},
	{"x-wpool-attempt", 'B', "ff", 255, 0, 0},
	{"x-wpool-attempt", 's', "00 02", 2, 0, 0},
	{"x-wpool-attempt", 'u', "ff ff", 65535, 0, 0},
	{"x-wpool-attempt", 'i', "00 01 00 00", 65535, 0, 0},
	{"x-wpool-attempt", 'L', "ff ff ff ff ff ff ff ff", 65535, 0, 0},
	{"x-wpool-attempt", 'b', "ff", 0, 0, 0},
	{"x-wpool-attempt", 'l', "80 00 00 00 00 00 00 00", 0, 0, 0},
	{"x-wpool-attempt", 'S', "'2'", 0, 0, 0},
	{"x-wpool-attempt", 'V', "", 0, 0, 0},
	{"x-wpool-attempt", 'd', "40 00 00 00 00 00 00 00", 0, 0, 0},
	{"x-wpool-attempt", 'A', "", 0, 0, 0},
	{"X-Wpool-Attempt", 'b', "02", 0, 0, 0},
	{"x-wpool-slice", 'I', "00 00 27 10", 0, 10000, 0},
	{"x-wpool-slice", 'l', "00 00 00 01 00 00 00 00", 0, UINT32_MAX, 0},
	{"x-wpool-slice", 'I', "ff ff ff ff", 0, 0, 0},
	{"x-delivery-count", 'l', "00 00 00 00 00 00 00 05", 0, 0, 5},
	{"x-delivery-count", 'l', "ff ff ff ff ff ff ff ff", 0, 0, 0},
	{"x-delivery-count", 'S', "'5'", 0, 0, 0},
	{"x-wpool-queue", 'S', "'orders'", 0, 0, 0},
	{"other", 'I', "00 00 00 01", 0, 0, 0},
};

START_TEST(only_valid_headers_are_read)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf table;
		buf_init(&table, SIZE_MAX);
		put_hex(&table, "before", 'V', "");
		put_hex(&table, cases[i].key, cases[i].type, cases[i].hex);
		struct delivery *d =
			delivery_of(&(struct properties){0}, buf_text(&table), TEXT("body"), 4);
		ck_assert_int_eq(d->invalid, REASON_NONE);
		ck_assert_msg(d->attempt == cases[i].attempt, "case %zu: %u", i, d->attempt);
		ck_assert_msg(d->slice == cases[i].slice, "case %zu: %u", i, d->slice);
		ck_assert_msg(d->returns == cases[i].returns, "case %zu: %u", i, d->returns);
		ck_assert_text_eq(d->headers, buf_text(&table));
		delivery_free(d);
		buf_release(&table);
	}
}
END_TEST

static const struct {
	const char *key;
	char type;
	const char *hex;
	bool is_suspect;
} reason_cases[] = {
	{"x-wpool-reason", 'S', "'crashed'", true},
	{"x-wpool-reason", 'S', "'timed-out'", true},
	{"x-wpool-reason", 'S', "'failed'", false},
	{"x-wpool-reason", 'S', "'protocol-error'", false},
	{"x-wpool-reason", 'S', "'crashed '", false},
	{"x-wpool-reason", 'S', "'crash'", false},
	{"x-wpool-reason", 'S', "", false},
	{"x-wpool-reason", 'x', "'crashed'", false},
	{"x-wpool-reason", 'A', "", false},
	{"x-wpool-reason", 'I', "00 00 00 03", false},
	{"X-Wpool-Reason", 'S', "'crashed'", false},
	{"reason", 'S', "'crashed'", false},
};

START_TEST(a_task_that_ended_its_worker_is_a_suspect)
{
	for (size_t i = 0; i < sizeof reason_cases / sizeof *reason_cases; i++) {
		struct buf table;
		buf_init(&table, SIZE_MAX);
		put_hex(&table, reason_cases[i].key, reason_cases[i].type, reason_cases[i].hex);
		struct delivery *d =
			delivery_of(&(struct properties){0}, buf_text(&table), TEXT_NONE, 4);
		ck_assert_int_eq(d->invalid, REASON_NONE);
		ck_assert_msg(d->is_suspect == reason_cases[i].is_suspect, "case %zu", i);
		delivery_free(d);
		buf_release(&table);
	}
}
END_TEST

static const struct {
	const char *key;
	char type;
	const char *hex;
	uint16_t renewed;
	int64_t soft_ms;
} limit_cases[] = {
	{"x-wpool-renewed", 'l', SEVEN_ZEROS " 03", 3, -1},
	{"x-wpool-renewed", 'I', "00 01 00 00", 65535, -1},
	{"x-wpool-renewed", 'I', "ff ff ff ff", 0, -1},
	{"x-wpool-renewed", 'S', "'3'", 0, -1},
	{"TimeoutMilliseconds", 'I', "00 00 00 64", 0, 100},
	{"TimeoutMilliseconds", 'l', SEVEN_ZEROS " 64", 0, 100},
	{"TimeoutMilliseconds", 'I', "ff ff ff ff", 0, -1},
	{"TimeoutMilliseconds", 'I', "00 00 00 00", 0, -1},
	{"TimeoutMilliseconds", 'l', "7f ff ff ff ff ff ff ff", 0, -1},
	{"TimeoutMilliseconds", 'd', "40 59 00 00 00 00 00 00", 0, 100},
	{"TimeoutMilliseconds", 'd', "7f f8 00 00 00 00 00 00", 0, -1},
	{"TimeoutMilliseconds", 'd', "7f f0 00 00 00 00 00 00", 0, -1},
	{"TimeoutMilliseconds", 'S', "'100'", 0, 100},
	{"TimeoutMilliseconds", 'S', "'999999999999999'", 0, 999999999999999},
	{"TimeoutMilliseconds", 'S', "'1000000000000000'", 0, -1},
	{"TimeoutMilliseconds", 'S', "'-1'", 0, -1},
	{"TimeoutMilliseconds", 'S', "'0'", 0, -1},
	{"TimeoutMilliseconds", 'S', "'soon'", 0, -1},
	{"TimeoutMilliseconds", 'S', "", 0, -1},
	{"TimeoutMilliseconds", 'V', "", 0, -1},
	{"timeoutmilliseconds", 'I', "00 00 00 64", 0, -1},
};

START_TEST(counts_and_limits_are_bounded)
{
	for (size_t i = 0; i < sizeof limit_cases / sizeof *limit_cases; i++) {
		struct buf table;
		buf_init(&table, SIZE_MAX);
		put_hex(&table, limit_cases[i].key, limit_cases[i].type, limit_cases[i].hex);
		struct delivery *d =
			delivery_of(&(struct properties){0}, buf_text(&table), TEXT_NONE, 4);
		ck_assert_msg(d->renewed == limit_cases[i].renewed, "case %zu: %u", i, d->renewed);
		ck_assert_msg(d->soft_ms == limit_cases[i].soft_ms, "case %zu: %lld", i,
			(long long)d->soft_ms);
		delivery_free(d);
		buf_release(&table);
	}
}
END_TEST

START_TEST(properties_are_read_and_a_large_body_is_invalid)
{
	struct properties properties = {0};
	struct delivery *d = delivery_of(&properties, TEXT_NONE, TEXT("1234"), 4);
	ck_assert_int_eq(d->invalid, REASON_NONE);
	ck_assert(d->reply_to.len == 0 && d->correlation_id.len == 0 && d->headers.len == 0);
	delivery_free(d);

	properties_set(&properties, PROPERTY_REPLY_TO, TEXT("answers"));
	properties_set(&properties, PROPERTY_CORRELATION_ID, TEXT("7"));
	properties_set(&properties, PROPERTY_MESSAGE_ID, TEXT("m-8"));
	d = delivery_of(&properties, text_of("", 0), TEXT("1234"), 4);
	ck_assert_int_eq(d->invalid, REASON_NONE);
	ck_assert_text_eq(d->reply_to, TEXT("answers"));
	ck_assert_text_eq(d->correlation_id, TEXT("7"));
	ck_assert_text_eq(d->message_id, TEXT("m-8"));
	delivery_free(d);

	d = delivery_of(&properties, TEXT_NONE, TEXT("12345"), 4);
	ck_assert_int_eq(d->invalid, REASON_TOO_LARGE);
	ck_assert_text_eq(d->reply_to, TEXT("answers"));
	delivery_free(d);
}
END_TEST

static void assert_bad_table(struct text table)
{
	struct properties properties = {0};
	properties_set(&properties, PROPERTY_REPLY_TO, TEXT("answers"));
	struct delivery *d = delivery_of(&properties, table, TEXT("12345"), 4);
	ck_assert_int_eq(d->invalid, REASON_BAD_HEADERS); /* rather than its size */
	ck_assert_uint_eq(d->headers.len, 0);
	ck_assert_text_eq(d->reply_to, TEXT("answers"));
	delivery_free(d);
}

START_TEST(malformed_headers_are_invalid)
{
	static const char *const tables[] = {
		"01 'k'",                       /* no type */
		"01 'k' 'S' 00 00 00 05 'abc'", /* cut */
		"01 'k' '?' 00",                /* unknown type */
		"01 'k' 'I' 00 00",             /* cut number */
		"09 'k' 'V'",                   /* key beyond the end */
		"01 'k' 'F' 00 00 00 03 01 'n' '?'",
		"01 'k' 'A' ff ff ff ff",
	};
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		struct bytes table = from_hex(tables[i]);
		assert_bad_table(bytes_text(&table));
	}
	struct buf table;
	buf_init(&table, SIZE_MAX);
	for (int i = 0; i < TABLE_FIELDS_MAX + 1; i++)
		table_put_bool(&table, TEXT("k"), true);
	assert_bad_table(buf_text(&table));
	buf_release(&table);
}
END_TEST

START_TEST(malformed_properties_are_invalid)
{
	static const char *const raws[] = {
		"", "80", "80 00", "80 00 05 'abc'", "00 01", "00 00 00"};
	for (size_t i = 0; i < sizeof raws / sizeof *raws; i++) {
		struct bytes raw = from_hex(raws[i]);
		struct delivery *d = delivery_new(0);
		d->properties = bytes_text(&raw);
		task_read_facts(d, &(struct task_facts_options){.body_limit = 10});
		ck_assert_int_eq(d->invalid, REASON_BAD_HEADERS);
		ck_assert_uint_eq(d->reply_to.len, 0);
		delivery_free(d);
	}
}
END_TEST

static const struct {
	const char *key;
	char type;
	const char *hex;
	int64_t not_before_ms; /* -1: the message is invalid */
} time_cases[] = {
	{"NotBefore", 'T', "00 00 00 00 65 53 f1 00", 1700000000000},
	{"NotBefore", 'T', SEVEN_ZEROS " 00", 0},
	{"NotBefore", 'T', "ff ff ff ff ff ff ff ff", -1},
	{"NotBefore", 'T', "00 20 c4 9b a5 e3 53 f7", 9223372036854775000},
	{"NotBefore", 'T', "00 20 c4 9b a5 e3 53 f8", -1},
	{"NotBefore", 'l', "00 00 01 8b cf e5 68 00", 1700000000000},
	{"NotBefore", 'L', "ff ff ff ff ff ff ff ff", INT64_MAX},
	{"NotBefore", 'I', "00 00 00 09", 9},
	{"NotBefore", 'b', "00", 0},
	{"NotBefore", 'b', "ff", -1},
	{"NotBefore", 'l', "80 00 00 00 00 00 00 00", -1},
	{"NotBefore", 'd', "42 78 bc fe 56 80 00 00", 1700000000000},
	{"NotBefore", 'd', "7f f8 00 00 00 00 00 00", -1},
	{"NotBefore", 'd', "bf f0 00 00 00 00 00 00", -1},
	{"NotBefore", 'd', "7f ef ff ff ff ff ff ff", -1},
	{"NotBefore", 'S', "'1700000000000'", 1700000000000},
	{"NotBefore", 'S', "'9223372036854775807'", INT64_MAX},
	{"NotBefore", 'S', "'9223372036854775808'", -1},
	{"NotBefore", 'S', "'1700000000000.0'", 1700000000000},
	{"NotBefore", 'S', "'1700000000000.25'", 1700000000001}, /* not too early */
	{"NotBefore", 'S', "'1.7e+12'", -1},
	{"NotBefore", 'S', "'1700000000000.'", -1},
	{"NotBefore", 'S', "'.5'", -1},
	{"NotBefore", 'd', "42 78 bc fe 56 80 04 00", 1700000000001}, /* .25 */
	{"NotBefore", 'S', "", -1},
	{"NotBefore", 'S', "'-1'", -1},
	{"NotBefore", 'S', "'tomorrow'", -1},
	{"NotBefore", 'x', "'17'", -1},
	{"NotBefore", 't', "01", -1},
	{"NotBefore", 'V', "", -1},
	{"NotBefore", 'A', "", -1},
	{"notbefore", 'S', "'tomorrow'", 0},
	{"x-wpool-not-before", 'l', "00 00 01 8b cf e5 68 00", 1700000000000},
	/* any publisher can write it: what is none of ours is ignored */
	{"x-wpool-not-before", 'S', "'tomorrow'", 0},
	{"x-wpool-not-before", 'l', "80 00 00 00 00 00 00 00", 0},
	{"x-wpool-not-before", 'V', "", 0},
};

START_TEST(a_time_is_read_or_the_message_is_invalid)
{
	for (size_t i = 0; i < sizeof time_cases / sizeof *time_cases; i++) {
		int64_t wanted = time_cases[i].not_before_ms;
		struct buf table;
		buf_init(&table, SIZE_MAX);
		put_hex(&table, time_cases[i].key, time_cases[i].type, time_cases[i].hex);
		struct delivery *d =
			delivery_of(&(struct properties){0}, buf_text(&table), TEXT_NONE, 4);
		ck_assert_msg(d->not_before_ms == (wanted < 0 ? 0 : wanted), "case %zu: %lld", i,
			(long long)d->not_before_ms);
		ck_assert_msg(d->invalid == (wanted < 0 ? REASON_BAD_HEADERS : REASON_NONE),
			"case %zu", i);
		delivery_free(d);
		buf_release(&table);
	}
}
END_TEST

/* A worker has postponed it: the publisher's time is over. */
START_TEST(our_own_time_goes_before_the_publisher_s)
{
	static const char *const others[] = {"'9'", "'5000'", "'tomorrow'"};
	for (size_t i = 0; i < 2 * sizeof others / sizeof *others; i++) {
		const char *other = others[i / 2];
		struct buf table;
		buf_init(&table, SIZE_MAX);
		if (i % 2)
			put_hex(&table, "NotBefore", 'S', other);
		put_hex(&table, "x-wpool-not-before", 'l', SEVEN_ZEROS " 63");
		if (i % 2 == 0)
			put_hex(&table, "NotBefore", 'S', other);
		struct delivery *d =
			delivery_of(&(struct properties){0}, buf_text(&table), TEXT_NONE, 4);
		ck_assert_int_eq(d->not_before_ms, 99);
		ck_assert_int_eq(d->invalid, REASON_NONE);
		delivery_free(d);
		buf_release(&table);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/facts");
	UNIT_CASE(s, "facts", only_valid_headers_are_read, counts_and_limits_are_bounded,
		a_task_that_ended_its_worker_is_a_suspect, a_time_is_read_or_the_message_is_invalid,
		our_own_time_goes_before_the_publisher_s,
		properties_are_read_and_a_large_body_is_invalid);
	UNIT_CASE(s, "invalid", malformed_headers_are_invalid, malformed_properties_are_invalid);
	return s;
}

UNIT_MAIN(suite)
