/* Names of retry queues are written and read. */
#include "message/retry_queue.h"

#include "core/tasks/retry.h"
#include "unit/support/message/message.h"
#include <stdio.h>

static const struct {
	mtime delay;
	const char *name;
} names[] = {
	{MTIME_SECOND, "q.retry.1s"},
	{10 * MTIME_SECOND, "q.retry.10s"},
	{60 * MTIME_SECOND, "q.retry.60s"},
	{60 * MTIME_MINUTE, "q.retry.3600s"},
	{250 * MTIME_MS, "q.retry.250ms"},
	{1500 * MTIME_MS, "q.retry.1500ms"},
	{86399999 * MTIME_MS, "q.retry.86399999ms"},
};

START_TEST(names_are_written_and_read)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char buffer[RETRY_QUEUE_NAME_MAX + 1];
		mtime delay = 0;
		struct text name =
			retry_queue_name(TEXT("q"), names[i].delay, buffer, sizeof buffer);
		ck_assert_text_eq(name, text_from(names[i].name));
		ck_assert_str_eq(buffer, names[i].name);
		ck_assert(retry_queue_delay(TEXT("q"), name, &delay));
		ck_assert_int_eq(delay, names[i].delay);
	}
}
END_TEST

START_TEST(wait_queues_have_names_of_their_own)
{
	char buffer[RETRY_QUEUE_NAME_MAX + 1];
	mtime step = 0;
	ck_assert_text_eq(wait_queue_name(TEXT("q"), 10 * MTIME_MS, buffer, sizeof buffer),
		TEXT("q.wait.10ms"));
	ck_assert(wait_queue_step(TEXT("q"), TEXT("q.wait.10ms"), &step));
	ck_assert_int_eq(step, 10 * MTIME_MS);
	ck_assert_text_eq(wait_queue_name(TEXT("q"), 2592000 * MTIME_SECOND, buffer, sizeof buffer),
		TEXT("q.wait.2592000s"));
	ck_assert(!wait_queue_step(TEXT("q"), TEXT("q.retry.1s"), &step));
	ck_assert(!retry_queue_delay(TEXT("q"), TEXT("q.wait.1s"), &step));
}
END_TEST

START_TEST(other_names_are_refused)
{
	static const char *const others[] = {"", "q", "q.retry", "q.retry.", "q.retry.s",
		"q.retry.ms", "q.retry.0s", "q.retry.1000ms", "q.retry.01s", "q.retry.1",
		"q.retry.1h", "q.retry.-1s", "q.retry.1s ", "q.retry.1.5s", "r.retry.1s",
		"qq.retry.1s", "q.retry.99999999999999999999s", "q.retry.9223372036854775807s",
		"q.dead"};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		mtime delay;
		ck_assert_msg(!retry_queue_delay(TEXT("q"), text_from(others[i]), &delay), "%s",
			others[i]);
	}
}
END_TEST

START_TEST(steps_have_the_names_of_their_queues)
{
	for (unsigned i = 0; i < WAIT_STEPS_MAX; i++) {
		char buffer[RETRY_QUEUE_NAME_MAX + 1], expected[40];
		snprintf(expected, sizeof expected, "q.wait.%s", wait_step_name(i));
		ck_assert_text_eq(wait_queue_name(TEXT("q"), wait_steps[i], buffer, sizeof buffer),
			text_from(expected));
	}
}
END_TEST

/* One byte more than AMQP or the buffer allows: there is no name. */
START_TEST(a_name_that_is_too_long_is_empty)
{
	char queue[256], buffer[300];
	memset(queue, 'q', sizeof queue);
	for (size_t len = 240; len <= 255; len++)
		ck_assert_uint_eq(
			retry_queue_name(text_of(queue, len), MTIME_SECOND, buffer, sizeof buffer)
				.len,
			len + 9 <= RETRY_QUEUE_NAME_MAX ? len + 9 : 0);
	ck_assert_uint_eq(retry_queue_name(TEXT("q"), MTIME_SECOND, buffer, 10).len, 0);
	ck_assert_uint_eq(retry_queue_name(TEXT("q"), MTIME_SECOND, buffer, 11).len, 10);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/retry_queue");
	UNIT_CASE(s, "names", names_are_written_and_read, wait_queues_have_names_of_their_own,
		steps_have_the_names_of_their_queues, other_names_are_refused,
		a_name_that_is_too_long_is_empty);
	return s;
}

UNIT_MAIN(suite)
