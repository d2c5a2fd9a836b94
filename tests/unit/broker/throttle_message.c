/* The messages of a shared throttle: what is written is read back, and how it is published. */
#include "unit/support/broker/throttle_messages.h"

#include "amqp/properties.h"
#include "core/throttle/throttle.h"
#include "unit/unit.h"

/* ---------- what is written ---------- */

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
	ck_assert_uint_eq(request_again.unused_count, request.unused_count);
	ck_assert_uint_eq(request_again.count, request.count);
	for (uint32_t i = 0; i < request.unused_count; i++) {
		ck_assert_uint_eq(request_again.unused[i].key, request.unused[i].key);
		ck_assert_int_eq(request_again.unused[i].stamp, request.unused[i].stamp);
		ck_assert_uint_eq(request_again.unused[i].starts, request.unused[i].starts);
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

static void expect_same_handover(void)
{
	ck_assert_uint_eq(handover_again.leader, handover.leader);
	ck_assert_uint_eq(handover_again.member, handover.member);
	expect_same_figures(&handover_again.figures, &handover.figures);
	ck_assert_int_eq(handover_again.sure_for, handover.sure_for);
	ck_assert_uint_eq(handover_again.count, handover.count);
	for (uint32_t i = 0; i < handover.count; i++) {
		ck_assert_uint_eq(handover_again.of[i].key, handover.of[i].key);
		ck_assert_uint_eq(handover_again.of[i].starts, handover.of[i].starts);
		ck_assert_int_eq(handover_again.of[i].after, handover.of[i].after);
	}
}

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

static const struct {
	uint32_t starts;
	int number;
} handovers[] = {{0, 0}, {0, 2}, {1, 0}, {1, 1}, {2, 2}, {HANDOVER_STARTS_MAX, 0},
	{HANDOVER_STARTS_MAX, 1}, {HANDOVER_STARTS_MAX, 2}};

START_TEST(what_is_handed_over_is_read_back)
{
	struct buf scratch;
	struct amqp_publish publish;

	buf_init(&scratch, THROTTLE_HANDOVER_MAX);
	memset(&handover_again, 0xff, sizeof handover_again);
	fill_handover(handovers[_i].starts, handovers[_i].number);
	ck_assert_int_eq(throttle_handover_write(&handover, TEXT("r"), &scratch, &publish), RC_OK);
	ck_assert_pstr_eq(throttle_handover_read(publish.body, &handover_again), NULL);
	expect_same_handover();
	buf_release(&scratch);
}
END_TEST

START_TEST(who_leaves_and_who_takes_is_read_back)
{
	const uint64_t ids[] = {1, 4711, UINT64_MAX};
	struct buf scratch;
	struct amqp_publish publish;

	buf_init(&scratch, THROTTLE_MESSAGE_MAX);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		ck_assert_int_eq(
			throttle_leave_write(ids[i], MTIME_SECOND, TEXT("q"), &scratch, &publish),
			RC_OK);
		ck_assert_pstr_eq(throttle_leave_read(publish.body, &id_again), NULL);
		ck_assert_uint_eq(id_again, ids[i]);
		ck_assert_int_eq(throttle_take_write(ids[i], TEXT("r"), &scratch, &publish), RC_OK);
		id_again = 0;
		ck_assert_pstr_eq(throttle_take_read(publish.body, &id_again), NULL);
		ck_assert_uint_eq(id_again, ids[i]);
	}
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
	request.unused_count = 2;
	ck_assert_int_eq(throttle_request_write(&request, TEXT("q"), &scratch, &publish), RC_OK);
	ck_assert_pstr_eq(throttle_request_read(publish.body, &request_again), NULL);
	expect_same_request();
	request.unused_count = 3;
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
		.unused_count = 1,
		.unused = {{.key = 9, .stamp = 10, .starts = 11}},
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
	ck_assert_int_eq(throttle_leave_write(7, 1, TEXT("q"), &scratch, &publish), RC_OK);
	ck_assert(text_is(publish.body, TEXT("\x93\1\2\7")));
	ck_assert_int_eq(throttle_take_write(7, TEXT("r"), &scratch, &publish), RC_OK);
	ck_assert(text_is(publish.body, TEXT("\x93\1\3\7")));
	handover.leader = 2;
	handover.member = 3;
	handover.figures = (struct shared_figures){.version = 5, .limit = 6, .period = 1000000};
	handover.sure_for = 8;
	handover.count = 1;
	handover.of[0] = (struct handed_starts){.key = 9, .starts = 10, .after = 11};
	ck_assert_int_eq(throttle_handover_write(&handover, TEXT("r"), &scratch, &publish), RC_OK);
	ck_assert(text_is(
		publish.body, TEXT("\x9c\1\4\2\3\5\6\xce\0\x0f\x42\x40\x08\1\x09\x0a\x0b")));
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

static void expect_properties(
	const struct amqp_publish *publish, struct text reply_to, struct text expiration)
{
	struct properties properties;

	ck_assert(publish->exchange.len == 0 && !publish->mandatory);
	ck_assert_int_eq(properties_parse(publish->properties, &properties), RC_OK);
	ck_assert_uint_eq(properties_octet(&properties, PROPERTY_DELIVERY_MODE), 1);
	ck_assert(text_is(properties.value[PROPERTY_TYPE], TEXT("wpool-throttle")));
	ck_assert(text_is(properties.value[PROPERTY_REPLY_TO], reply_to));
	ck_assert(text_is(properties.value[PROPERTY_EXPIRATION], expiration));
}

/* Only what waits in a queue expires, and only what is answered has an address. */
START_TEST(a_handover_is_asked_for_and_sent_directly)
{
	struct buf scratch;
	struct amqp_publish publish;

	buf_init(&scratch, THROTTLE_MESSAGE_MAX);
	fill_handover(1, 1);
	ck_assert_int_eq(
		throttle_leave_write(7, MTIME_SECOND, TEXT("queue"), &scratch, &publish), RC_OK);
	ck_assert(text_is(publish.routing_key, TEXT("queue")));
	expect_properties(&publish, TEXT("amq.rabbitmq.reply-to"), TEXT("1000"));
	ck_assert_int_eq(throttle_take_write(7, TEXT("leaver"), &scratch, &publish), RC_OK);
	ck_assert(text_is(publish.routing_key, TEXT("leaver")));
	expect_properties(&publish, TEXT("amq.rabbitmq.reply-to"), TEXT(""));
	ck_assert_int_eq(
		throttle_handover_write(&handover, TEXT("taker"), &scratch, &publish), RC_OK);
	ck_assert(text_is(publish.routing_key, TEXT("taker")));
	expect_properties(&publish, TEXT(""), TEXT(""));
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
	ck_assert_int_eq(throttle_leave_write(0, 1, TEXT("q"), &scratch, &publish), RC_LIMIT);
	ck_assert_int_eq(throttle_take_write(0, TEXT("r"), &scratch, &publish), RC_LIMIT);
	fill_handover(1, 1);
	handover.sure_for = -1;
	ck_assert_int_eq(
		throttle_handover_write(&handover, TEXT("r"), &scratch, &publish), RC_LIMIT);
	fill_handover(1, 1);
	handover.of[0].after = -1;
	ck_assert_int_eq(
		throttle_handover_write(&handover, TEXT("r"), &scratch, &publish), RC_LIMIT);
	fill_handover(1, 1);
	handover.count = HANDOVER_STARTS_MAX + 1;
	ck_assert_int_eq(
		throttle_handover_write(&handover, TEXT("r"), &scratch, &publish), RC_LIMIT);
	ck_assert(text_is(publish.routing_key, TEXT("untouched")));
	buf_release(&scratch);
	buf_init(&scratch, 60);
	fill_answer(1, 2);
	ck_assert_int_eq(throttle_answer_write(&answer, TEXT("q"), &scratch, &publish), RC_MEMORY);
	ck_assert(text_is(publish.routing_key, TEXT("untouched")));
	buf_release(&scratch);
}
END_TEST

static Suite *throttle_message_suite(void)
{
	Suite *suite = suite_create("broker/throttle_message");
	TCase *written = tcase_create("written");

	tcase_add_loop_test(written, what_is_written_is_read_back, 0, FILLINGS);
	tcase_add_loop_test(
		written, what_is_handed_over_is_read_back, 0, sizeof handovers / sizeof *handovers);
	tcase_add_test(written, who_leaves_and_who_takes_is_read_back);
	tcase_add_test(written, returned_keys_are_not_wanted_keys);
	tcase_add_test(written, bytes_are_those_of_the_layout);
	tcase_add_loop_test(written, a_request_expires_with_its_lease_and_is_answered_directly, 0,
		sizeof expirations / sizeof *expirations);
	tcase_add_test(written, an_answer_goes_where_the_request_came_from);
	tcase_add_test(written, a_handover_is_asked_for_and_sent_directly);
	tcase_add_test(written, what_cannot_be_read_is_not_written);
	suite_add_tcase(suite, written);
	return suite;
}

UNIT_MAIN(throttle_message_suite)
