/* copy_build for a task that a throttle does not let start: the copy that waits for later, the
 * refusal for its caller, and its dead letter. None of them counts an attempt. */
#include "unit/support/message/trial.h"
#include <stdio.h>

/* All that a former copy and the broker may have added. */
static void put_history(struct buf *headers)
{
	table_put_string(headers, TEXT("tenant"), TEXT("acme"));
	put_hex(headers, "n", 'B', "ff");
	table_put_integer(headers, TEXT("x-wpool-attempt"), 2);
	table_put_integer(headers, TEXT("x-wpool-slice"), 3);
	table_put_integer(headers, TEXT("x-wpool-renewed"), 4);
	table_put_string(headers, TEXT("x-wpool-reason"), TEXT("crashed"));
	table_put_string(headers, TEXT("x-wpool-queue"), TEXT("first"));
	table_put_string(headers, TEXT("x-wpool-exit"), TEXT("signal 11"));
	table_put_integer(headers, TEXT("x-wpool-status"), 503);
	put_hex(headers, "x-wpool-first-failed", 'T', SEVEN_ZEROS " 09");
	put_hex(headers, "x-wpool-bcc", 'S', "'b'");
	put_hex(headers, "x-death", 'A', "'F' 00 00 00 00");
	put_hex(headers, "x-delivery-count", 'l', SEVEN_ZEROS " 05");
	put_hex(headers, "CC", 'S', "'q'");
	table_put_string(headers, TEXT("traceparent"), TEXT("00-1"));
	table_put_string(headers, TEXT("x-wpool-cut"), TEXT("gone"));
}

START_TEST(a_postponed_copy_has_the_same_history)
{
	struct trial t;
	trial_init(&t);
	put_history(&t.task_headers);
	t.output->status = 500;
	t.parcel.reason = REASON_THROTTLED;
	t.parcel.exit = (struct exit_info){EXIT_SIGNAL, 9, NULL};
	trial_run(&t, PARCEL_POSTPONE);
	assert_table(t.properties.value[PROPERTY_HEADERS],
		"x-wpool-renewed:l=4 x-wpool-attempt:l=2 x-wpool-slice:l=3 tenant:S=\"acme\" "
		"n:B=255 x-wpool-reason:S=\"crashed\" x-wpool-queue:S=\"first\" "
		"x-wpool-exit:S=\"signal 11\" "
		"x-wpool-status:l=503 x-wpool-first-failed:T=9 x-wpool-bcc:S=\"b\" "
		"x-wpool-cc:S=\"q\" traceparent:S=\"00-1\" x-wpool-cut:S=\"gone\" ");
	ck_assert_text_eq(t.publish.body, TEXT("old"));
	trial_release(&t);
}
END_TEST

/* Where it waits for its time, our header says until when. */
START_TEST(a_copy_for_later_has_the_same_history_and_its_time)
{
	struct trial t;
	trial_init(&t);
	put_history(&t.task_headers);
	put_hex(&t.task_headers, "NotBefore", 'T', SEVEN_ZEROS " 09");
	table_put_integer(&t.task_headers, TEXT("x-wpool-not-before"), 1700000000123);
	t.output->status = 503;
	trial_run(&t, PARCEL_LATER);
	assert_table(t.properties.value[PROPERTY_HEADERS],
		"x-wpool-renewed:l=4 x-wpool-attempt:l=2 x-wpool-slice:l=3 "
		"x-wpool-not-before:l=1700000000123 tenant:S=\"acme\" "
		"n:B=255 x-wpool-reason:S=\"crashed\" x-wpool-queue:S=\"first\" "
		"x-wpool-exit:S=\"signal 11\" "
		"x-wpool-status:l=503 x-wpool-first-failed:T=9 x-wpool-bcc:S=\"b\" "
		"x-wpool-cc:S=\"q\" traceparent:S=\"00-1\" NotBefore:T=9 "
		"x-wpool-cut:S=\"gone\" ");
	ck_assert_text_eq(t.publish.body, TEXT("old"));
	trial_release(&t);
}
END_TEST

START_TEST(a_postponed_first_attempt_gets_no_header)
{
	struct trial t;
	trial_init(&t);
	trial_run_with(&t, PARCEL_POSTPONE, &(struct properties){0}, &trial_options);
	ck_assert(!properties_has(&t.properties, PROPERTY_HEADERS));
	trial_release(&t);
}
END_TEST

/* However often it is postponed. */
START_TEST(a_postponed_copy_of_a_copy_is_the_same)
{
	struct trial first, second;
	trial_init(&first);
	put_history(&first.task_headers);
	trial_run(&first, PARCEL_POSTPONE);
	trial_init(&second);
	buf_append_text(&second.task_headers, first.properties.value[PROPERTY_HEADERS]);
	trial_run(&second, PARCEL_POSTPONE);
	ck_assert_text_eq(second.publish.properties, first.publish.properties);
	ck_assert_uint_eq(second.delivery->attempt, 2);
	ck_assert(second.delivery->is_suspect);
	trial_release(&first);
	trial_release(&second);
}
END_TEST

/* A task of a session: its attempts and the rest of its work are in memory. A header that some
 * publisher wrote is no time. */
START_TEST(a_postponed_copy_has_what_was_kept_in_memory)
{
	static const struct {
		char type;
		const char *first_failed, *expected;
	} cases[] = {
		{'S', "'long ago'", "x-wpool-first-failed:T=1699999910 "},
		{'T', SEVEN_ZEROS " 09", "x-wpool-first-failed:T=9 "},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct trial t;
		char expected[128];
		trial_init(&t);
		put_hex(&t.task_headers, "x-wpool-first-failed", cases[i].type,
			cases[i].first_failed);
		struct properties all = all_properties();
		t.delivery = delivery_of(&all, buf_text(&t.task_headers), TEXT("old"), 100);
		t.delivery->attempt = 2;
		t.parcel.failing_for = 90 * MTIME_SECOND;
		trial_run(&t, PARCEL_POSTPONE);
		snprintf(expected, sizeof expected, "x-wpool-attempt:l=2 %s", cases[i].expected);
		assert_table(t.properties.value[PROPERTY_HEADERS], expected);
		trial_release(&t);
	}
}
END_TEST

START_TEST(a_postponed_rest_stays_a_rest)
{
	static const struct key_source source = {.kind = KEY_HEADER, .header = {"s", 1}};
	struct properties all = all_properties();
	struct buf after;
	struct trial t;
	trial_init(&t);
	buf_init(&after, SIZE_MAX);
	table_put_string(&t.task_headers, TEXT("s"), TEXT("k"));
	table_put_string(&t.task_headers, TEXT("a"), TEXT("1"));
	table_put_string(&after, TEXT("b"), TEXT("2"));
	t.delivery = delivery_of_session(&all, buf_text(&t.task_headers), TEXT("old"), &source);
	t.delivery->slice = 1;
	t.delivery->rest = output_new(0);
	t.delivery->rest->body = TEXT("rest");
	t.delivery->rest->headers = buf_text(&after);
	t.delivery->rest->content_type = TEXT("t/t");
	t.parcel.failing_for = MTIME_SECOND;
	t.delivery->attempt = 1;
	trial_run(&t, PARCEL_POSTPONE);
	assert_table(t.properties.value[PROPERTY_HEADERS],
		"x-wpool-attempt:l=1 x-wpool-slice:l=1 x-wpool-first-failed:T=1699999999 "
		"b:S=\"2\" s:S=\"k\" ");
	ck_assert_text_eq(t.publish.body, TEXT("rest"));
	ck_assert_text_eq(t.properties.value[PROPERTY_CONTENT_TYPE], TEXT("t/t"));
	ck_assert_text_eq(t.properties.value[PROPERTY_MESSAGE_ID], TEXT("m-1"));
	trial_release(&t);
	buf_release(&after);
}
END_TEST

/* A caller that waits until then is never too early. */
START_TEST(a_refusal_says_how_long_to_wait)
{
	static const struct {
		mtime delay;
		const char *expected;
	} cases[] = {
		{1, "Status:l=429 RetryAfterMilliseconds:l=1 "},
		{MTIME_MS, "Status:l=429 RetryAfterMilliseconds:l=1 "},
		{MTIME_MS + 1, "Status:l=429 RetryAfterMilliseconds:l=2 "},
		{365 * 24 * 60 * MTIME_MINUTE,
			"Status:l=429 RetryAfterMilliseconds:l=31536000000 "},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct trial t;
		trial_init(&t);
		t.parcel.delay = cases[i].delay;
		trial_run(&t, PARCEL_REFUSAL);
		assert_table(t.properties.value[PROPERTY_HEADERS], cases[i].expected);
		ck_assert_uint_eq(t.publish.body.len, 0);
		trial_release(&t);
	}
}
END_TEST

/* Nothing else of the task, and nothing of its last answer. */
START_TEST(a_refusal_continues_the_trace)
{
	struct trial t;
	trial_init(&t);
	put_history(&t.task_headers);
	table_put_string(&t.task_headers, TEXT("tracestate"), TEXT("a=b"));
	table_put_string(&t.task_headers, TEXT("Status"), TEXT("200"));
	table_put_string(&t.reply_headers, TEXT("traceparent"), TEXT("worker"));
	t.output->content_type = TEXT("text/html");
	t.parcel.delay = MTIME_SECOND;
	trial_run(&t, PARCEL_REFUSAL);
	assert_table(t.properties.value[PROPERTY_HEADERS],
		"Status:l=429 RetryAfterMilliseconds:l=1000 traceparent:S=\"00-1\" "
		"tracestate:S=\"a=b\" ");
	ck_assert_text_eq(t.properties.value[PROPERTY_CONTENT_TYPE], TEXT("text/plain"));
	trial_release(&t);
}
END_TEST

START_TEST(a_refusal_needs_no_answer_of_a_worker)
{
	struct copy_options options = trial_options;
	struct buf scratch;
	struct amqp_publish publish;
	struct properties all = all_properties();
	properties_set(&all, PROPERTY_REPLY_TO, TEXT("amq.rabbitmq.reply-to.g1h2"));
	struct delivery *d = delivery_of(&all, TEXT_NONE, TEXT("old"), 100);
	struct parcel parcel = {.kind = PARCEL_REFUSAL, .delivery = d, .seq.number = 42};
	buf_init(&scratch, SIZE_MAX);
	ck_assert_int_eq(copy_build(&parcel, &options, &scratch, &publish), RC_OK);
	ck_assert_text_eq(publish.routing_key, TEXT("amq.rabbitmq.reply-to.g1h2"));
	ck_assert(!publish.mandatory);
	parcel.kind = PARCEL_POSTPONE;
	ck_assert_int_eq(copy_build(&parcel, &options, &scratch, &publish), RC_OK);
	ck_assert_text_eq(publish.body, TEXT("old"));
	ck_assert(publish.mandatory);
	buf_release(&scratch);
	delivery_free(d);
}
END_TEST

START_TEST(a_trace_that_does_not_fit_is_left_out_of_a_refusal)
{
	static char long_trace[5000];
	struct properties all = all_properties();
	struct copy_options options = trial_options;
	struct trial t;
	options.frame_max = 4096;
	memset(long_trace, 't', sizeof long_trace);
	trial_init(&t);
	table_put_string(
		&t.task_headers, TEXT("traceparent"), text_of(long_trace, sizeof long_trace));
	t.parcel.delay = MTIME_SECOND;
	trial_run_with(&t, PARCEL_REFUSAL, &all, &options);
	assert_table(t.properties.value[PROPERTY_HEADERS],
		"Status:l=429 RetryAfterMilliseconds:l=1000 x-wpool-cut:S=\"traceparent\" ");
	trial_release(&t);
}
END_TEST

START_TEST(a_throttled_dead_letter_counts_no_attempt)
{
	struct trial t;
	trial_init(&t);
	table_put_integer(&t.task_headers, TEXT("x-wpool-attempt"), 2);
	table_put_string(&t.task_headers, TEXT("x-wpool-reason"), TEXT("failed"));
	put_hex(&t.task_headers, "x-wpool-first-failed", 'T', SEVEN_ZEROS " 09");
	t.parcel.reason = REASON_THROTTLED;
	t.output->status = 0;
	trial_run(&t, PARCEL_DEAD_LETTER);
	assert_table(t.properties.value[PROPERTY_HEADERS],
		"x-wpool-attempt:l=2 x-wpool-reason:S=\"throttled\" x-wpool-queue:S=\"orders\" "
		"x-wpool-first-failed:T=9 ");
	trial_release(&t);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/copy_throttled");
	UNIT_CASE(s, "postponed", a_postponed_copy_has_the_same_history,
		a_copy_for_later_has_the_same_history_and_its_time,
		a_postponed_first_attempt_gets_no_header, a_postponed_copy_of_a_copy_is_the_same,
		a_postponed_copy_has_what_was_kept_in_memory, a_postponed_rest_stays_a_rest);
	UNIT_CASE(s, "refused", a_refusal_says_how_long_to_wait, a_refusal_continues_the_trace,
		a_refusal_needs_no_answer_of_a_worker,
		a_trace_that_does_not_fit_is_left_out_of_a_refusal);
	UNIT_CASE(s, "dead letter", a_throttled_dead_letter_counts_no_attempt);
	return s;
}

UNIT_MAIN(suite)
