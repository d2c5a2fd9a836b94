/* A channel in confirm mode: the order of its commands, and what each event of the broker means for
 * publishes. The commands of amqp/channel.h are fakes of this test, which record one letter each.
 */
#include "broker/confirm_channel.h"
#include "message/copy.h"

#include "unit/unit.h"

#include <string.h>

#define CHANNEL 7

static char commands[16]; /* o: channel.open, s: confirm.select */
static struct connection *const connection = (struct connection *)commands;
static struct confirm_channel channel;

static void record_command(const struct connection *on, uint16_t number, const char *letter)
{
	ck_assert_ptr_eq(on, connection);
	ck_assert_uint_eq(number, CHANNEL);
	ck_assert_uint_lt(strlen(commands) + 1, sizeof commands);
	strcat(commands, letter);
}

void channel_open(struct connection *on, uint16_t number)
{
	record_command(on, number, "o");
}

void channel_confirm_select(struct connection *on, uint16_t number)
{
	record_command(on, number, "s");
}

static struct publish_answer handle(struct amqp_event event)
{
	event.channel = CHANNEL;
	return confirm_channel_on_event(&channel, &event);
}

static struct publish_answer handle_kind(enum amqp_event_kind kind)
{
	return handle((struct amqp_event){.kind = kind});
}

static void assert_answer(
	struct publish_answer answer, enum publish_answer_kind kind, uint64_t number, bool multiple)
{
	ck_assert_int_eq(answer.kind, kind);
	ck_assert_uint_eq(answer.number, number);
	ck_assert_int_eq(answer.multiple, multiple);
}

static void set_up(void)
{
	commands[0] = 0;
	channel = (struct confirm_channel){0};
}

static void set_up_in_confirm_mode(void)
{
	set_up();
	confirm_channel_select(&channel, connection, CHANNEL);
	assert_answer(handle_kind(AMQP_CONFIRM_SELECTED), PUBLISH_READY, 0, false);
}

START_TEST(open_selects_confirm_mode_before_it_is_up)
{
	ck_assert(!confirm_channel_is_up(&channel));
	confirm_channel_open(&channel, connection, CHANNEL);
	ck_assert_str_eq(commands, "o");
	assert_answer(handle_kind(AMQP_CHANNEL_OPENED), PUBLISH_NOT_ANSWERED, 0, false);
	ck_assert_str_eq(commands, "os");
	ck_assert(!confirm_channel_is_up(&channel));
	assert_answer(handle_kind(AMQP_CONFIRM_SELECTED), PUBLISH_READY, 0, false);
	ck_assert(confirm_channel_is_up(&channel));
}
END_TEST

START_TEST(select_does_not_open_an_open_channel)
{
	confirm_channel_select(&channel, connection, CHANNEL);
	ck_assert_str_eq(commands, "s");
	assert_answer(handle_kind(AMQP_CHANNEL_OPENED), PUBLISH_NOT_ANSWERED, 0, false);
	ck_assert_str_eq(commands, "s");
	assert_answer(handle_kind(AMQP_CONFIRM_SELECTED), PUBLISH_READY, 0, false);
}
END_TEST

START_TEST(open_is_repeated_when_the_old_channel_is_closed)
{
	confirm_channel_open(&channel, connection, CHANNEL);
	assert_answer(handle_kind(AMQP_CHANNEL_CLOSE_OK), PUBLISH_NOT_ANSWERED, 0, false);
	ck_assert_str_eq(commands, "oo");
	handle_kind(AMQP_CHANNEL_OPENED);
	ck_assert_str_eq(commands, "oos");
}
END_TEST

START_TEST(close_ok_does_not_reopen_a_channel_that_is_up)
{
	handle_kind(AMQP_CHANNEL_CLOSE_OK);
	ck_assert_str_eq(commands, "s");
}
END_TEST

START_TEST(confirms_keep_number_and_multiple)
{
	static const struct {
		uint64_t number;
		bool multiple, positive;
	} cases[] = {
		{1, false, true},
		{2, false, true},
		{5, true, true},
		{6, false, false},
		{9, true, false},
		{UINT64_MAX, false, true},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_answer(handle((struct amqp_event){.kind = AMQP_CONFIRM,
				      .tag = cases[i].number,
				      .multiple = cases[i].multiple,
				      .positive = cases[i].positive}),
			cases[i].positive ? PUBLISH_CONFIRMED : PUBLISH_REFUSED, cases[i].number,
			cases[i].multiple);
}
END_TEST

static struct publish_answer handle_return(struct text properties)
{
	return handle((struct amqp_event){.kind = AMQP_RETURN, .content.properties = properties});
}

START_TEST(return_carries_the_number_of_the_publish_and_its_ack_follows)
{
	struct properties properties = {0};
	char digits[TEXT_DECIMAL_MAX];
	struct buf raw;

	buf_init(&raw, 1024);
	copy_set_number(&properties, 42, digits);
	properties_write(&properties, &raw);
	assert_answer(handle_return(buf_text(&raw)), PUBLISH_RETURNED, 42, false);
	assert_answer(
		handle((struct amqp_event){.kind = AMQP_CONFIRM, .tag = 42, .positive = true}),
		PUBLISH_CONFIRMED, 42, false);
	buf_release(&raw);
}
END_TEST

START_TEST(return_without_a_number_is_not_one_of_ours)
{
	assert_answer(handle_return(TEXT("\0\0")), PUBLISH_RETURNED, 0, false);
	assert_answer(handle_return(TEXT("")), PUBLISH_RETURNED, 0, false);
}
END_TEST

START_TEST(confirms_are_dropped_while_channel_is_not_up)
{
	struct amqp_event confirm = {.kind = AMQP_CONFIRM, .tag = 1, .positive = true};

	confirm_channel_open(&channel, connection, CHANNEL);
	assert_answer(handle(confirm), PUBLISH_NOT_ANSWERED, 0, false);
	handle_kind(AMQP_CHANNEL_OPENED);
	assert_answer(handle(confirm), PUBLISH_NOT_ANSWERED, 0, false);
	handle_kind(AMQP_CONFIRM_SELECTED);
	assert_answer(handle(confirm), PUBLISH_CONFIRMED, 1, false);
}
END_TEST

/* The publishes that are unconfirmed then are the owner's: it publishes them again. */
START_TEST(confirms_are_dropped_after_channel_is_closed)
{
	assert_answer(handle((struct amqp_event){.kind = AMQP_CHANNEL_CLOSED, .code = 404}),
		PUBLISH_NOT_ANSWERED, 0, false);
	confirm_channel_down(&channel);
	ck_assert(!confirm_channel_is_up(&channel));
	assert_answer(handle((struct amqp_event){.kind = AMQP_CONFIRM, .tag = 1, .positive = true}),
		PUBLISH_NOT_ANSWERED, 0, false);
	ck_assert_str_eq(commands, "s");
}
END_TEST

START_TEST(a_closed_channel_can_be_opened_again)
{
	confirm_channel_down(&channel);
	confirm_channel_open(&channel, connection, CHANNEL);
	handle_kind(AMQP_CHANNEL_OPENED);
	assert_answer(handle_kind(AMQP_CONFIRM_SELECTED), PUBLISH_READY, 0, false);
	ck_assert_str_eq(commands, "sos");
	ck_assert(confirm_channel_is_up(&channel));
}
END_TEST

START_TEST(other_events_do_not_concern_publishes)
{
	static const enum amqp_event_kind others[] = {
		AMQP_BLOCKED, AMQP_UNBLOCKED, AMQP_QUEUE_DECLARED, AMQP_DELIVERY, AMQP_QOS_OK};

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_answer(handle_kind(others[i]), PUBLISH_NOT_ANSWERED, 0, false);
	ck_assert(confirm_channel_is_up(&channel));
	ck_assert_str_eq(commands, "s");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("broker/confirm_channel");
	TCase *opening = tcase_create("opening");
	tcase_add_checked_fixture(opening, set_up, NULL);
	tcase_add_test(opening, open_selects_confirm_mode_before_it_is_up);
	tcase_add_test(opening, select_does_not_open_an_open_channel);
	tcase_add_test(opening, open_is_repeated_when_the_old_channel_is_closed);
	tcase_add_test(opening, confirms_are_dropped_while_channel_is_not_up);
	suite_add_tcase(s, opening);
	TCase *up = tcase_create("up");
	tcase_add_checked_fixture(up, set_up_in_confirm_mode, NULL);
	tcase_add_test(up, close_ok_does_not_reopen_a_channel_that_is_up);
	tcase_add_test(up, confirms_keep_number_and_multiple);
	tcase_add_test(up, return_carries_the_number_of_the_publish_and_its_ack_follows);
	tcase_add_test(up, return_without_a_number_is_not_one_of_ours);
	tcase_add_test(up, confirms_are_dropped_after_channel_is_closed);
	tcase_add_test(up, a_closed_channel_can_be_opened_again);
	tcase_add_test(up, other_events_do_not_concern_publishes);
	suite_add_tcase(s, up);
	return s;
}

UNIT_MAIN(suite)
