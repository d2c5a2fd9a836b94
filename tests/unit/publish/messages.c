/* The messages of a publish: their order, their bounds, and what a confirm and a lost channel do to
 * them. */
#include "unit/unit.h"

#include "publish/messages.h"

static struct messages m;

static void set_up(void)
{
	m = (struct messages){0};
	ck_assert_int_eq(messages_init(&m), RC_OK);
}

static void tear_down(void)
{
	messages_release(&m);
}

static void publish(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (!messages_waiting(&m))
			messages_add(&m, TEXT("body"));
		messages_published(&m);
	}
}

static enum publish_answer_kind confirm(uint64_t number)
{
	return messages_take(&m, &(struct publish_answer){PUBLISH_CONFIRMED, number, false});
}

static unsigned confirm_up_to(uint64_t number)
{
	unsigned count = 0;
	while (messages_take(&m, &(struct publish_answer){PUBLISH_CONFIRMED, number, true}))
		count++;
	return count;
}

START_TEST(confirmed_messages_are_removed)
{
	publish(10);
	ck_assert_int_eq(confirm(7), PUBLISH_CONFIRMED);
	ck_assert_int_eq(confirm(7), PUBLISH_NOT_ANSWERED);
	ck_assert_uint_eq(confirm_up_to(3), 3);
	ck_assert_int_eq(confirm(99), PUBLISH_NOT_ANSWERED);
	ck_assert_uint_eq(confirm_up_to(8), 4);
	ck_assert_uint_eq(confirm_up_to(10), 2);
	ck_assert_uint_eq(m.count + m.bytes + m.unconfirmed.count, 0);
}
END_TEST

START_TEST(unconfirmed_messages_wait_again_in_order)
{
	publish(5);
	confirm(2);
	struct message *late = messages_add(&m, TEXT("late"));
	ck_assert_uint_eq(messages_rewind(&m), 4);
	static const uint64_t numbers[] = {1, 3, 4, 5};
	for (size_t i = 0; i < 4; i++) {
		struct message *message = messages_waiting(&m);
		ck_assert_uint_eq(message->number, numbers[i]);
		ck_assert(message->was_published);
		ck_assert(text_is(text_of(message->body, message->len), TEXT("body")));
		ck_assert_uint_eq(m.unconfirmed.next, i + 1);
		messages_published(&m);
	}
	ck_assert_ptr_eq(messages_waiting(&m), late);
	ck_assert(!late->was_published);
}
END_TEST

START_TEST(a_returned_message_may_be_confirmed_the_next_time)
{
	publish(1);
	ck_assert(unconfirmed_return(&m.unconfirmed, 1));
	messages_rewind(&m);
	publish(1);
	ck_assert_int_eq(confirm(1), PUBLISH_CONFIRMED);
}
END_TEST

START_TEST(number_and_bytes_are_bounded)
{
	publish(MESSAGES_MAX - 1);
	ck_assert(messages_has_space(&m));
	publish(1);
	ck_assert(!messages_has_space(&m));
	confirm_up_to(MESSAGES_MAX);
	char *large = calloc(1, MESSAGES_BYTES_MAX);
	messages_add(&m, text_of(large, MESSAGES_BYTES_MAX));
	free(large);
	ck_assert(!messages_has_space(&m));
}
END_TEST

/* The numbers between the oldest and the newest unconfirmed publish are limited. */
START_TEST(none_is_added_while_the_oldest_has_waited_too_long)
{
	publish(UNCONFIRMED_MAX - 1);
	for (uint64_t number = 2; number < UNCONFIRMED_MAX; number++)
		confirm(number);
	ck_assert(messages_has_space(&m));
	publish(1);
	ck_assert(!messages_has_space(&m));
	confirm(1);
	ck_assert(messages_has_space(&m));
}
END_TEST

static Suite *messages_suite(void)
{
	Suite *suite = suite_create("publish/messages");
	TCase *messages = tcase_create("messages");
	tcase_add_checked_fixture(messages, set_up, tear_down);
	tcase_add_test(messages, confirmed_messages_are_removed);
	tcase_add_test(messages, unconfirmed_messages_wait_again_in_order);
	tcase_add_test(messages, a_returned_message_may_be_confirmed_the_next_time);
	tcase_add_test(messages, number_and_bytes_are_bounded);
	tcase_add_test(messages, none_is_added_while_the_oldest_has_waited_too_long);
	suite_add_tcase(suite, messages);
	return suite;
}

UNIT_MAIN(messages_suite)
