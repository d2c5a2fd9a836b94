/* The messages of a shared throttle: what is written is read back, and what others may have
 * published is refused with a reason. */
#include "broker/throttle/throttle_message.h"

#include "amqp/properties.h"
#include "core/throttle/throttle.h"
#include "unit/unit.h"

/* Structs of this size are no variables of a function. */
static struct throttle_request request, request_again;
static struct throttle_answer answer, answer_again;

/* ---------- what is written ---------- */

/* number: 0 for the smallest value of each member, 1 for an ordinary one, 2 for the largest. */
static void fill_request(uint32_t keys, int number)
{
	const uint64_t any[] = {0, UINT64_C(0x123456789abcdef0), UINT64_MAX};
	const uint64_t some[] = {1, 4711, UINT64_MAX};
	const uint32_t starts[] = {0, 300, THROTTLE_LIMIT_MAX};
	const mtime stamps[] = {0, 3600 * MTIME_SECOND, THROTTLE_STAMP_MAX};

	request = (struct throttle_request){.member = some[number],
		.number = any[number],
		.lease = (const mtime[]){1, LEASE_MIN, LEASE_MAX}[number],
		.figures = {.version = (const uint64_t[]){0, 3, SHARED_VERSION_MAX}[number],
			.limit = (const uint32_t[]){1, 300, THROTTLE_LIMIT_MAX}[number],
			.period = (const mtime[]){SHARED_PERIOD_MIN, MTIME_MINUTE,
				SHARED_PERIOD_MAX}[number]},
		.leader = any[number],
		.returned_count = keys,
		.count = keys};
	for (uint32_t i = 0; i < keys; i++) {
		request.returned[i] = (struct returned){.key = any[number] - (number ? i : 0),
			.stamp = stamps[number],
			.starts = starts[number]};
		request.keys[i] = (struct wanted){.key = any[number] - (number ? i : 0),
			.starts = starts[number],
			.late = starts[number]};
	}
}

static void fill_answer(uint32_t keys, int number)
{
	fill_request(keys, number);
	answer = (struct throttle_answer){.leader = request.member,
		.member = request.member,
		.number = request.number,
		.figures = request.figures,
		.stamp = (const mtime[]){0, MTIME_MINUTE, THROTTLE_STAMP_MAX}[number],
		.in_windows = (const uint64_t[]){0, 500, UINT64_MAX}[number],
		.keys_known = (const uint32_t[]){0, 500, UINT32_MAX}[number],
		.count = keys};
	for (uint32_t i = 0; i < keys; i++)
		answer.keys[i] = (struct granted){.key = request.keys[i].key,
			.starts = request.keys[i].starts,
			.wait = (const mtime[]){0, MTIME_SECOND, THROTTLE_WAIT_MAX}[number],
			.is_unsure = i % 2 == 1};
}

static void expect_same_figures(
	const struct shared_figures *one, const struct shared_figures *other)
{
	ck_assert_uint_eq(one->version, other->version);
	ck_assert_uint_eq(one->limit, other->limit);
	ck_assert_int_eq(one->period, other->period);
}

static void expect_same_request(void)
{
	ck_assert_uint_eq(request_again.member, request.member);
	ck_assert_uint_eq(request_again.number, request.number);
	ck_assert_int_eq(request_again.lease, request.lease);
	expect_same_figures(&request_again.figures, &request.figures);
	ck_assert_uint_eq(request_again.leader, request.leader);
	ck_assert_uint_eq(request_again.returned_count, request.returned_count);
	ck_assert_uint_eq(request_again.count, request.count);
	for (uint32_t i = 0; i < request.returned_count; i++) {
		ck_assert_uint_eq(request_again.returned[i].key, request.returned[i].key);
		ck_assert_int_eq(request_again.returned[i].stamp, request.returned[i].stamp);
		ck_assert_uint_eq(request_again.returned[i].starts, request.returned[i].starts);
	}
	for (uint32_t i = 0; i < request.count; i++) {
		ck_assert_uint_eq(request_again.keys[i].key, request.keys[i].key);
		ck_assert_uint_eq(request_again.keys[i].starts, request.keys[i].starts);
		ck_assert_uint_eq(request_again.keys[i].late, request.keys[i].late);
	}
}

static void expect_same_answer(void)
{
	ck_assert_uint_eq(answer_again.leader, answer.leader);
	ck_assert_uint_eq(answer_again.member, answer.member);
	ck_assert_uint_eq(answer_again.number, answer.number);
	expect_same_figures(&answer_again.figures, &answer.figures);
	ck_assert_int_eq(answer_again.stamp, answer.stamp);
	ck_assert_uint_eq(answer_again.in_windows, answer.in_windows);
	ck_assert_uint_eq(answer_again.keys_known, answer.keys_known);
	ck_assert_uint_eq(answer_again.count, answer.count);
	for (uint32_t i = 0; i < answer.count; i++) {
		ck_assert_uint_eq(answer_again.keys[i].key, answer.keys[i].key);
		ck_assert_uint_eq(answer_again.keys[i].starts, answer.keys[i].starts);
		ck_assert_int_eq(answer_again.keys[i].wait, answer.keys[i].wait);
		ck_assert_int_eq(answer_again.keys[i].is_unsure, answer.keys[i].is_unsure);
	}
}

static const struct {
	uint32_t keys;
	int number;
} fillings[] = {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {REQUEST_KEYS_MAX, 0},
	{REQUEST_KEYS_MAX, 1}, {REQUEST_KEYS_MAX, 2}};

START_TEST(what_is_written_is_read_back)
{
	struct buf scratch;
	struct amqp_publish publish;

	buf_init(&scratch, THROTTLE_MESSAGE_MAX);
	memset(&request_again, 0xff, sizeof request_again);
	memset(&answer_again, 0xff, sizeof answer_again);
	fill_request(fillings[_i].keys, fillings[_i].number);
	ck_assert_int_eq(throttle_request_write(&request, TEXT("q"), &scratch, &publish), RC_OK);
	ck_assert_pstr_eq(throttle_request_read(publish.body, &request_again), NULL);
	expect_same_request();
	ck_assert_pstr_eq(throttle_answer_read(publish.body, &answer_again), "it is no answer");
	fill_answer(fillings[_i].keys, fillings[_i].number);
	ck_assert_int_eq(throttle_answer_write(&answer, TEXT("q"), &scratch, &publish), RC_OK);
	ck_assert_pstr_eq(throttle_answer_read(publish.body, &answer_again), NULL);
	expect_same_answer();
	ck_assert_pstr_eq(throttle_request_read(publish.body, &request_again), "it is no request");
	buf_release(&scratch);
}
END_TEST

/* The lists of a request have counts of their own. */
START_TEST(returned_keys_are_not_wanted_keys)
{
	struct buf scratch;
	struct amqp_publish publish;

	buf_init(&scratch, THROTTLE_MESSAGE_MAX);
	fill_request(3, 1);
	request.returned_count = 2;
	ck_assert_int_eq(throttle_request_write(&request, TEXT("q"), &scratch, &publish), RC_OK);
	ck_assert_pstr_eq(throttle_request_read(publish.body, &request_again), NULL);
	expect_same_request();
	request.returned_count = 3;
	request.count = 0;
	ck_assert_int_eq(throttle_request_write(&request, TEXT("q"), &scratch, &publish), RC_OK);
	ck_assert_pstr_eq(throttle_request_read(publish.body, &request_again), NULL);
	expect_same_request();
	buf_release(&scratch);
}
END_TEST

/* Those of the header's comment: supervisors of other releases have it, too. */
START_TEST(bytes_are_those_of_the_layout)
{
	struct buf scratch;
	struct amqp_publish publish;

	buf_init(&scratch, THROTTLE_MESSAGE_MAX);
	request = (struct throttle_request){.member = 2,
		.number = 3,
		.lease = 4,
		.figures = {.version = 5, .limit = 6, .period = 1000000},
		.leader = 8,
		.returned_count = 1,
		.returned = {{.key = 9, .stamp = 10, .starts = 11}},
		.count = 1,
		.keys = {{.key = 12, .starts = 13, .late = 14}}};
	ck_assert_int_eq(throttle_request_write(&request, TEXT("q"), &scratch, &publish), RC_OK);
	ck_assert(text_is(publish.body, TEXT("\xdc\0\x11\1\0\2\3\4\5\6\xce\0\x0f\x42\x40\x08\1\1"
					     "\x09\x0a\x0b\x0c\x0d\x0e")));
	answer = (struct throttle_answer){.leader = 2,
		.member = 3,
		.number = 4,
		.figures = {.version = 5, .limit = 6, .period = 1000000},
		.stamp = 8,
		.in_windows = 9,
		.keys_known = 10,
		.count = 1,
		.keys = {{.key = 11, .starts = 12, .wait = 13, .is_unsure = true}}};
	ck_assert_int_eq(throttle_answer_write(&answer, TEXT("q"), &scratch, &publish), RC_OK);
	ck_assert(text_is(publish.body, TEXT("\xdc\0\x10\1\1\2\3\4\5\6\xce\0\x0f\x42\x40\x08\x09"
					     "\x0a\1\x0b\x0c\x0d\1")));
	buf_release(&scratch);
}
END_TEST

/* ---------- how it is published ---------- */

static const struct {
	mtime lease;
	const char *expiration;
} expirations[] = {{1, "1"}, {999, "1"}, {1000, "1"}, {1001, "2"}, {LEASE_MIN, "20"},
	{LEASE_MAX - 1, "500"}, {LEASE_MAX, "500"}};

START_TEST(a_request_expires_with_its_lease_and_is_answered_directly)
{
	struct properties properties;
	struct buf scratch;
	struct amqp_publish publish;

	buf_init(&scratch, THROTTLE_MESSAGE_MAX);
	fill_request(1, 1);
	request.lease = expirations[_i].lease;
	ck_assert_int_eq(
		throttle_request_write(&request, TEXT("wpool.throttle.a"), &scratch, &publish),
		RC_OK);
	ck_assert(publish.exchange.len == 0 && !publish.mandatory);
	ck_assert(text_is(publish.routing_key, TEXT("wpool.throttle.a")));
	ck_assert_int_eq(properties_parse(publish.properties, &properties), RC_OK);
	ck_assert_uint_eq(properties_octet(&properties, PROPERTY_DELIVERY_MODE), 1);
	ck_assert(text_is(properties.value[PROPERTY_TYPE], TEXT("wpool-throttle")));
	ck_assert(text_is(properties.value[PROPERTY_REPLY_TO], TEXT("amq.rabbitmq.reply-to")));
	ck_assert(text_is(
		properties.value[PROPERTY_EXPIRATION], text_from(expirations[_i].expiration)));
	ck_assert_uint_eq(properties.present, 1u << PROPERTY_DELIVERY_MODE | 1u << PROPERTY_TYPE |
						      1u << PROPERTY_REPLY_TO |
						      1u << PROPERTY_EXPIRATION);
	buf_release(&scratch);
}
END_TEST

START_TEST(an_answer_goes_where_the_request_came_from)
{
	static char reply_to[SHORT_STRING_MAX + 1];
	struct properties properties;
	struct buf scratch;
	struct amqp_publish publish;

	buf_init(&scratch, THROTTLE_MESSAGE_MAX);
	memset(reply_to, 'r', sizeof reply_to);
	fill_answer(1, 1);
	ck_assert_int_eq(throttle_answer_write(
				 &answer, text_of(reply_to, SHORT_STRING_MAX), &scratch, &publish),
		RC_OK);
	ck_assert(publish.exchange.len == 0 && !publish.mandatory);
	ck_assert(text_is(publish.routing_key, text_of(reply_to, SHORT_STRING_MAX)));
	ck_assert_int_eq(properties_parse(publish.properties, &properties), RC_OK);
	ck_assert_uint_eq(properties_octet(&properties, PROPERTY_DELIVERY_MODE), 1);
	ck_assert(text_is(properties.value[PROPERTY_TYPE], TEXT("wpool-throttle")));
	ck_assert_uint_eq(properties.present, 1u << PROPERTY_DELIVERY_MODE | 1u << PROPERTY_TYPE);
	publish.routing_key = TEXT("untouched");
	ck_assert_int_eq(throttle_answer_write(
				 &answer, text_of(reply_to, sizeof reply_to), &scratch, &publish),
		RC_LIMIT);
	ck_assert(text_is(publish.routing_key, TEXT("untouched")));
	buf_release(&scratch);
}
END_TEST

/* Others would refuse it. */
START_TEST(what_cannot_be_read_is_not_written)
{
	struct buf scratch;
	struct amqp_publish publish = {.routing_key = TEXT("untouched")};

	buf_init(&scratch, THROTTLE_MESSAGE_MAX);
	fill_request(1, 1);
	request.keys[0].late = THROTTLE_LIMIT_MAX + 1;
	ck_assert_int_eq(throttle_request_write(&request, TEXT("q"), &scratch, &publish), RC_LIMIT);
	fill_request(1, 1);
	request.lease = -1;
	ck_assert_int_eq(throttle_request_write(&request, TEXT("q"), &scratch, &publish), RC_LIMIT);
	fill_request(1, 1);
	request.count = UINT32_MAX;
	ck_assert_int_eq(throttle_request_write(&request, TEXT("q"), &scratch, &publish), RC_LIMIT);
	fill_answer(1, 1);
	answer.figures.version = SHARED_VERSION_MAX + 1;
	ck_assert_int_eq(throttle_answer_write(&answer, TEXT("q"), &scratch, &publish), RC_LIMIT);
	ck_assert(text_is(publish.routing_key, TEXT("untouched")));
	buf_release(&scratch);
	buf_init(&scratch, 60);
	fill_answer(1, 2);
	ck_assert_int_eq(throttle_answer_write(&answer, TEXT("q"), &scratch, &publish), RC_MEMORY);
	ck_assert(text_is(publish.routing_key, TEXT("untouched")));
	buf_release(&scratch);
}
END_TEST

/* ---------- what is refused ---------- */

#define REFUSED " is no number, or out of its range"

/* An element of the array, with the smallest and the largest value that is accepted. */
struct place {
	uint64_t value, min, max;
	const char *why;
};

/* One key of each list. */
static const struct place request_places[] = {
	{1, 1, 1, NULL},
	{0, 0, 0, "it is no request"},
	{5, 1, UINT64_MAX, "its member" REFUSED},
	{6, 0, UINT64_MAX, "its number" REFUSED},
	{100000, 1, 500000, "its lease" REFUSED},
	{7, 0, (UINT64_C(1) << 53) - 1, "its version of the figures" REFUSED},
	{10, 1, 1000000, "its limit" REFUSED},
	{1000000, 500000, UINT64_C(365) * 86400 * 1000000, "its period" REFUSED},
	{8, 0, UINT64_MAX, "its leader" REFUSED},
	{1, 1, 1, "its count of returned keys" REFUSED},
	{1, 1, 1, "its count of keys" REFUSED},
	{9, 0, UINT64_MAX, "a returned key" REFUSED},
	{10, 0, (UINT64_C(1) << 62) - 1, "a returned key's stamp" REFUSED},
	{11, 0, 1000000, "a returned key's starts" REFUSED},
	{12, 0, UINT64_MAX, "a key" REFUSED},
	{13, 0, 1000000, "a key's starts" REFUSED},
	{14, 0, 1000000, "a key's late" REFUSED},
};

static const struct place answer_places[] = {
	{1, 1, 1, NULL},
	{1, 1, 1, "it is no answer"},
	{5, 1, UINT64_MAX, "its leader" REFUSED},
	{5, 1, UINT64_MAX, "its member" REFUSED},
	{6, 0, UINT64_MAX, "its number" REFUSED},
	{7, 0, (UINT64_C(1) << 53) - 1, "its version of the figures" REFUSED},
	{10, 1, 1000000, "its limit" REFUSED},
	{1000000, 500000, UINT64_C(365) * 86400 * 1000000, "its period" REFUSED},
	{10, 0, (UINT64_C(1) << 62) - 1, "its stamp" REFUSED},
	{11, 0, UINT64_MAX, "its in_windows" REFUSED},
	{12, 0, UINT32_MAX, "its keys_known" REFUSED},
	{1, 1, 1, "its count of keys" REFUSED},
	{13, 0, UINT64_MAX, "a key" REFUSED},
	{14, 0, 1000000, "a key's starts" REFUSED},
	{15, 0, UINT64_C(3650) * 86400 * 1000000, "a key's wait" REFUSED},
	{0, 0, 1, "a key's is_unsure" REFUSED},
};

struct kind {
	const struct place *places;
	size_t count;
	const char *(*read)(struct text body);
};

#define PLACES(list) list, sizeof(list) / sizeof *(list)

static const char *read_request(struct text body)
{
	return throttle_request_read(body, &request_again);
}

static const char *read_answer(struct text body)
{
	return throttle_answer_read(body, &answer_again);
}

static const struct kind kinds[] = {
	{PLACES(request_places), read_request}, {PLACES(answer_places), read_answer}};

static void append_number(struct buf *out, uint64_t number)
{
	buf_append_byte(out, 0xcf);
	buf_append_be64(out, number);
}

static void append_head(struct buf *out, size_t count)
{
	buf_append_byte(out, 0xdc);
	buf_append_be16(out, (uint16_t)count);
}

/* The reason for a message with other bytes in one place. */
static const char *why_with(const struct kind *kind, size_t place, struct text bytes)
{
	struct buf body;
	const char *why;

	buf_init(&body, THROTTLE_MESSAGE_MAX);
	append_head(&body, kind->count);
	for (size_t i = 0; i < kind->count; i++)
		if (i == place)
			buf_append_text(&body, bytes);
		else
			append_number(&body, kind->places[i].value);
	why = kind->read(buf_text(&body));
	buf_release(&body);
	return why;
}

static const char *why_with_number(const struct kind *kind, size_t place, uint64_t number)
{
	struct buf bytes;
	const char *why;

	buf_init(&bytes, 16);
	append_number(&bytes, number);
	why = why_with(kind, place, buf_text(&bytes));
	buf_release(&bytes);
	return why;
}

/* The counts and the kind fit only as they are: other tests have those. */
START_TEST(what_is_out_of_its_range_is_refused)
{
	const struct kind *kind = &kinds[_i];

	for (size_t i = 2; i < kind->count; i++) {
		const struct place *place = &kind->places[i];
		ck_assert_pstr_eq(why_with_number(kind, i, place->min), NULL);
		ck_assert_pstr_eq(why_with_number(kind, i, place->max), NULL);
		if (place->min == place->max)
			continue;
		if (place->min > 0)
			ck_assert_pstr_eq(why_with_number(kind, i, place->min - 1), place->why);
		if (place->max < UINT64_MAX) {
			ck_assert_pstr_eq(why_with_number(kind, i, place->max + 1), place->why);
			ck_assert_pstr_eq(why_with_number(kind, i, UINT64_MAX), place->why);
		}
	}
}
END_TEST

static const struct text no_numbers[] = {
	TEXT("\xff"),                     /* -1 */
	TEXT("\xd3\x80\0\0\0\0\0\0\0"),   /* INT64_MIN */
	TEXT("\xc0"),                     /* nil */
	TEXT("\xc3"),                     /* true */
	TEXT("\xcb\x3f\xf0\0\0\0\0\0\0"), /* 1.0 */
	TEXT("\xa1\x31"),                 /* "1" */
	TEXT("\xc4\1\1"),                 /* bin */
	TEXT("\xd4\1\1"),                 /* ext */
	TEXT("\x91\1"),                   /* [1] */
	TEXT("\xdd\xff\xff\xff\xff"),     /* an array without its elements */
	TEXT("\xdf\xff\xff\xff\xff"),     /* a map without them */
	TEXT("\xc1"),                     /* never used */
};

START_TEST(what_is_no_number_is_refused)
{
	const struct kind *kind = &kinds[_i];

	for (size_t i = 0; i < kind->count; i++)
		for (size_t j = 0; j < sizeof no_numbers / sizeof *no_numbers; j++)
			ck_assert_pstr_eq(why_with(kind, i, no_numbers[j]),
				i == 0 ? "its version of the protocol is no number"
				       : kind->places[i].why);
}
END_TEST

START_TEST(numbers_of_any_width_are_read)
{
	for (size_t i = 0; i < 2; i++) {
		ck_assert_pstr_eq(why_with(&kinds[i], 2, TEXT("\5")), NULL);
		ck_assert_pstr_eq(why_with(&kinds[i], 2, TEXT("\xcc\5")), NULL);
		ck_assert_pstr_eq(why_with(&kinds[i], 2, TEXT("\xcd\0\5")), NULL);
		ck_assert_pstr_eq(why_with(&kinds[i], 2, TEXT("\xce\0\0\0\5")), NULL);
		ck_assert_pstr_eq(why_with(&kinds[i], 2, TEXT("\xd0\5")), NULL);
		ck_assert_pstr_eq(why_with(&kinds[i], 2, TEXT("\xd3\0\0\0\0\0\0\0\5")), NULL);
	}
}
END_TEST

START_TEST(other_versions_are_refused)
{
	for (size_t i = 0; i < 2; i++) {
		ck_assert_pstr_eq(
			why_with_number(&kinds[i], 0, 0), "it is of another version of wpool");
		ck_assert_pstr_eq(
			why_with_number(&kinds[i], 0, 2), "it is of another version of wpool");
		ck_assert_pstr_eq(
			kinds[i].read(TEXT("\x91\2")), "it is of another version of wpool");
	}
	ck_assert_pstr_eq(why_with_number(&kinds[0], 1, 2), "it is no request");
	ck_assert_pstr_eq(why_with_number(&kinds[1], 1, 0), "it is no answer");
}
END_TEST

#define COUNTS "its array has another length than its counts require"

START_TEST(counts_that_do_not_fit_are_refused)
{
	const struct {
		size_t kind, place;
		uint64_t count;
		const char *why;
	} cases[] = {
		{0, 9, 0, COUNTS},
		{0, 9, 2, COUNTS},
		{0, 9, REQUEST_KEYS_MAX, COUNTS},
		{0, 9, REQUEST_KEYS_MAX + 1, "its count of returned keys" REFUSED},
		{0, 9, UINT64_C(1) << 32, "its count of returned keys" REFUSED},
		{0, 10, 0, COUNTS},
		{0, 10, 2, COUNTS},
		{0, 10, REQUEST_KEYS_MAX + 1, "its count of keys" REFUSED},
		{0, 10, (UINT64_C(1) << 32) + 1, "its count of keys" REFUSED},
		{1, 11, 0, COUNTS},
		{1, 11, 2, COUNTS},
		{1, 11, REQUEST_KEYS_MAX + 1, "its count of keys" REFUSED},
		{1, 11, (UINT64_C(1) << 32) + 1, "its count of keys" REFUSED},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_pstr_eq(
			why_with_number(&kinds[cases[i].kind], cases[i].place, cases[i].count),
			cases[i].why);
}
END_TEST

static const struct {
	struct text body;
	const char *why;
} bodies[] = {
	{TEXT_NONE, "it ends too early"},
	{TEXT(""), "it ends too early"},
	{TEXT("\x90"), "it ends too early"},
	{TEXT("\xdc\0"), "it ends too early"},
	{TEXT("\x07"), "it is no array of MessagePack"},
	{TEXT("\x81\1\1"), "it is no array of MessagePack"},
	{TEXT("\xc1"), "it is no array of MessagePack"},
	{TEXT("{\"wpool_token\":1}\n"), "it is no array of MessagePack"},
	{TEXT("\x92\1\2"), "it is no "},
};

START_TEST(what_is_no_message_is_refused)
{
	for (size_t i = 0; i < 2; i++)
		ck_assert(text_starts(
			text_from(kinds[i].read(bodies[_i].body)), text_from(bodies[_i].why)));
}
END_TEST

START_TEST(what_is_too_large_or_goes_on_is_refused)
{
	static char bytes[THROTTLE_MESSAGE_MAX + 1];
	struct buf scratch;
	struct amqp_publish publish;

	buf_init(&scratch, THROTTLE_MESSAGE_MAX);
	for (size_t i = 0; i < 2; i++) {
		fill_answer(2, 1);
		ck_assert_int_eq(
			i == 0 ? throttle_request_write(&request, TEXT("q"), &scratch, &publish)
			       : throttle_answer_write(&answer, TEXT("q"), &scratch, &publish),
			RC_OK);
		text_copy(bytes, publish.body);
		ck_assert_pstr_eq(kinds[i].read(text_of(bytes, publish.body.len)), NULL);
		ck_assert_pstr_eq(kinds[i].read(text_of(bytes, publish.body.len + 1)),
			"more bytes follow its array");
		ck_assert_pstr_eq(kinds[i].read(text_of(bytes, sizeof bytes - 1)),
			"more bytes follow its array");
		ck_assert_pstr_eq(kinds[i].read(text_of(bytes, sizeof bytes)), "it is too large");
	}
	buf_release(&scratch);
}
END_TEST

/* The bytes in a block of exactly their size, for tools that see what is read behind it. */
static const char *read_exactly(const struct kind *kind, struct text body)
{
	char *block = malloc(body.len > 0 ? body.len : 1);
	const char *why;

	ck_assert_ptr_nonnull(block);
	why = kind->read(text_copy(block, body));
	free(block);
	return why;
}

START_TEST(what_is_cut_is_refused)
{
	struct buf scratch;
	struct amqp_publish publish;

	buf_init(&scratch, THROTTLE_MESSAGE_MAX);
	fill_answer(fillings[_i].keys < 20 ? fillings[_i].keys : 20, fillings[_i].number);
	ck_assert_int_eq(throttle_request_write(&request, TEXT("q"), &scratch, &publish), RC_OK);
	for (size_t len = 0; len < publish.body.len; len++)
		ck_assert_pstr_eq(read_exactly(&kinds[0], text_of(publish.body.ptr, len)),
			"it ends too early");
	ck_assert_int_eq(throttle_answer_write(&answer, TEXT("q"), &scratch, &publish), RC_OK);
	for (size_t len = 0; len < publish.body.len; len++)
		ck_assert_pstr_eq(read_exactly(&kinds[1], text_of(publish.body.ptr, len)),
			"it ends too early");
	buf_release(&scratch);
}
END_TEST

/* ---------- random damage ---------- */

#define ROUNDS 200000

static uint32_t dice(uint64_t *state, uint32_t sides)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33) % sides;
}

/* Some other bytes, some more, or some less. */
static size_t damage(char *bytes, size_t len, size_t space, uint64_t *state)
{
	static const uint8_t likely[] = {
		0x00, 0x01, 0x7f, 0x80, 0xc0, 0xcc, 0xcf, 0xd3, 0xdc, 0xff};

	for (uint32_t left = 1 + dice(state, 4); left > 0 && len > 0; left--) {
		size_t at = dice(state, (uint32_t)len);
		uint8_t byte = dice(state, 2) ? likely[dice(state, sizeof likely)]
					      : (uint8_t)dice(state, 256);
		uint32_t what = dice(state, 6);
		if (what == 0) {
			memmove(bytes + at, bytes + at + 1, --len - at);
		} else if (what == 1 && len < space) {
			memmove(bytes + at + 1, bytes + at, len++ - at);
			bytes[at] = (char)byte;
		} else {
			bytes[at] = (char)byte;
		}
	}
	return len;
}

static struct text write_again(size_t kind, struct buf *scratch)
{
	struct amqp_publish publish;
	enum rc rc = kind == 0
			     ? throttle_request_write(&request_again, TEXT("q"), scratch, &publish)
			     : throttle_answer_write(&answer_again, TEXT("q"), scratch, &publish);

	ck_assert_int_eq(rc, RC_OK);
	return publish.body;
}

/* What was accepted can be written, and is the same when it is read again. */
static bool is_written_again(size_t kind, struct buf *scratch)
{
	static char bytes[1024];
	struct text first = text_copy(bytes, write_again(kind, scratch));

	return !kinds[kind].read(first) && text_is(write_again(kind, scratch), first);
}

START_TEST(random_damage_is_refused_or_is_a_message)
{
	const struct kind *kind = &kinds[_i];
	char bytes[1024];
	struct buf original, scratch;
	struct amqp_publish publish;
	uint32_t accepted = 0;

	buf_init(&original, THROTTLE_MESSAGE_MAX);
	buf_init(&scratch, THROTTLE_MESSAGE_MAX);
	fill_answer(3, 1);
	ck_assert_int_eq(_i == 0 ? throttle_request_write(&request, TEXT("q"), &original, &publish)
				 : throttle_answer_write(&answer, TEXT("q"), &original, &publish),
		RC_OK);
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t state = round;
		size_t len = text_copy(bytes, publish.body).len;
		len = damage(bytes, len, sizeof bytes, &state);
		if (read_exactly(kind, text_of(bytes, len)))
			continue;
		accepted++;
		ck_assert_msg(is_written_again((size_t)_i, &scratch), "round %u", round);
	}
	ck_assert(accepted > 0 && accepted < ROUNDS);
	buf_release(&original);
	buf_release(&scratch);
}
END_TEST

static Suite *throttle_message_suite(void)
{
	Suite *suite = suite_create("broker/throttle_message");
	TCase *written = tcase_create("written"), *refused = tcase_create("refused");

	tcase_add_loop_test(
		written, what_is_written_is_read_back, 0, sizeof fillings / sizeof *fillings);
	tcase_add_test(written, returned_keys_are_not_wanted_keys);
	tcase_add_test(written, bytes_are_those_of_the_layout);
	tcase_add_loop_test(written, a_request_expires_with_its_lease_and_is_answered_directly, 0,
		sizeof expirations / sizeof *expirations);
	tcase_add_test(written, an_answer_goes_where_the_request_came_from);
	tcase_add_test(written, what_cannot_be_read_is_not_written);
	suite_add_tcase(suite, written);
	tcase_set_timeout(refused, 60);
	tcase_add_loop_test(refused, what_is_out_of_its_range_is_refused, 0, 2);
	tcase_add_loop_test(refused, what_is_no_number_is_refused, 0, 2);
	tcase_add_test(refused, numbers_of_any_width_are_read);
	tcase_add_test(refused, other_versions_are_refused);
	tcase_add_test(refused, counts_that_do_not_fit_are_refused);
	tcase_add_loop_test(
		refused, what_is_no_message_is_refused, 0, sizeof bodies / sizeof *bodies);
	tcase_add_test(refused, what_is_too_large_or_goes_on_is_refused);
	tcase_add_loop_test(refused, what_is_cut_is_refused, 0, sizeof fillings / sizeof *fillings);
	tcase_add_loop_test(refused, random_damage_is_refused_or_is_a_message, 0, 2);
	suite_add_tcase(suite, refused);
	return suite;
}

UNIT_MAIN(throttle_message_suite)
