/* Messages on their way, and what a confirm means for them. */
#include "unit/unit.h"

#include "cli/window.h"

static struct window w;

static void set_up(void)
{
	window_init(&w);
}

static void tear_down(void)
{
	window_release(&w);
}

/* Publishes count messages with tags from first. */
static void publish(uint64_t first, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct message *m = window_waiting(&w);
		if (!m)
			m = window_add(&w, TEXT("body"));
		window_published(&w, m, first + i);
	}
}

static unsigned settle(uint64_t tag, bool multiple)
{
	unsigned count = 0;
	for (struct message *m; (m = window_take(&w, tag, multiple)); count++)
		free(m);
	return count;
}

START_TEST(confirms_come_in_any_order)
{
	publish(1, 10);
	ck_assert_uint_eq(settle(7, false), 1);
	ck_assert_uint_eq(settle(7, false), 0); /* twice is nothing */
	ck_assert_uint_eq(settle(3, true), 3);
	ck_assert_uint_eq(settle(99, false), 0);
	ck_assert_uint_eq(settle(8, true), 4);
	ck_assert_uint_eq(settle(0, true), 2); /* all so far */
	ck_assert_uint_eq(w.count + w.bytes + w.unconfirmed_count, 0);
}
END_TEST

START_TEST(a_lost_connection_brings_them_back_in_order)
{
	publish(1, 5);
	settle(2, false);
	struct message *late = window_add(&w, TEXT("late"));
	ck_assert_ptr_eq(
		window_find(&w, 3), CONTAINER_OF(w.unconfirmed.next->next, struct message, link));
	ck_assert_uint_eq(window_rewind(&w), 4);
	static const uint64_t numbers[] = {1, 3, 4, 5};
	for (size_t i = 0; i < 4; i++) {
		struct message *m = window_waiting(&w);
		ck_assert_uint_eq(m->number, numbers[i]);
		ck_assert(text_is(text_of(m->body, m->len), TEXT("body")));
		window_published(&w, m, i + 1);
	}
	ck_assert_ptr_eq(window_waiting(&w), late);
}
END_TEST

START_TEST(a_returned_one_may_be_taken_the_next_time)
{
	publish(1, 1);
	window_find(&w, 1)->was_returned = true;
	window_rewind(&w);
	publish(1, 1);
	ck_assert(!window_find(&w, 1)->was_returned);
}
END_TEST

START_TEST(it_is_bounded_in_number_and_bytes)
{
	publish(1, WINDOW_MESSAGES - 1);
	ck_assert(window_has_room(&w));
	publish(WINDOW_MESSAGES, 1);
	ck_assert(!window_has_room(&w));
	settle(0, true);
	char *much = calloc(1, WINDOW_BYTES);
	window_add(&w, text_of(much, WINDOW_BYTES));
	free(much);
	ck_assert(!window_has_room(&w));
}
END_TEST

static Suite *window_suite(void)
{
	Suite *suite = suite_create("cli_window");
	TCase *window = tcase_create("window");
	tcase_add_checked_fixture(window, set_up, tear_down);
	tcase_add_test(window, confirms_come_in_any_order);
	tcase_add_test(window, a_lost_connection_brings_them_back_in_order);
	tcase_add_test(window, a_returned_one_may_be_taken_the_next_time);
	tcase_add_test(window, it_is_bounded_in_number_and_bytes);
	suite_add_tcase(suite, window);
	return suite;
}

UNIT_MAIN(window_suite)
