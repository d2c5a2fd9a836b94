/* A task of a session whose worker handed back its rest: the next task and all copies have what a
 * message that was published for the rest would have. */
#include "message/rest.h"
#include "unit/support/message/task.h"
#include "unit/support/message/trial.h"

static const struct key_source source = {.kind = KEY_HEADER, .header = {"s", 1}};

struct rest {
	struct buf before, after; /* headers of the message and of the rest */
	struct delivery *delivery;
};

static void rest_init(struct rest *rest)
{
	buf_init(&rest->before, SIZE_MAX);
	buf_init(&rest->after, SIZE_MAX);
	table_put_string(&rest->before, TEXT("s"), TEXT("k"));
	table_put_string(&rest->before, TEXT("a"), TEXT("1"));
}

/* The headers are set; the message is "old", the rest is "new". */
static struct delivery *rest_make(struct rest *rest)
{
	struct properties properties = all_properties();
	rest->delivery =
		delivery_of_session(&properties, buf_text(&rest->before), TEXT("old"), &source);
	rest->delivery->rest = output_new(0);
	rest->delivery->rest->body = TEXT("new");
	rest->delivery->rest->headers = buf_text(&rest->after);
	rest->delivery->rest->content_type = TEXT("t/t");
	return rest->delivery;
}

static void rest_release(struct rest *rest)
{
	delivery_free(rest->delivery);
	buf_release(&rest->before);
	buf_release(&rest->after);
}

START_TEST(the_next_task_is_the_rest)
{
	struct rest rest;
	rest_init(&rest);
	table_put_string(&rest.after, TEXT("b"), TEXT("2"));
	struct delivery *d = rest_make(&rest);
	assert_frame(d, &task_plain_options,
		"85 a1'0' a3'new' a1'1' a4'corr' a1'2' a1'q' a1'3' 82 a1'b' a1'2' a1's' a1'k' "
		"a1'4' a1'k'",
		"a rest");
	struct task_options options = task_plain_options;
	options.properties = true;
	struct bytes frame = frame_of(d, &options);
	ck_assert_ptr_nonnull(memmem(frame.at, frame.len,
		"\xac"
		"content_type\xa3t/t",
		17));
	rest_release(&rest);
}
END_TEST

/* The next rest may replace it while the frame is being written. */
START_TEST(a_large_rest_is_copied)
{
	struct rest rest;
	rest_init(&rest);
	struct delivery *d = rest_make(&rest);
	struct task_gap gap = {.size_min = 1};
	struct buf out;
	buf_init(&out, TASK_LIMIT);
	ck_assert_int_eq(task_write(d, &task_plain_options, 1, 0, &out, &gap), RC_OK);
	ck_assert_uint_eq(gap.body.len, 0);
	ck_assert_ptr_nonnull(memmem(buf_text(&out).ptr, buf_len(&out), "new", 3));
	buf_release(&out);
	rest_release(&rest);
}
END_TEST

static const struct {
	const char *key[2], *set, *expected; /* key: of the message; set: by the worker */
} kept_cases[] = {
	{{"traceparent", "tracestate"}, "b",
		"x-wpool-renewed:l=1 b:S=\"set\" s:S=\"k\" traceparent:S=\"m\" tracestate:S=\"m\" "},
	{{"traceparent", "tracestate"}, "traceparent",
		"x-wpool-renewed:l=1 traceparent:S=\"set\" s:S=\"k\" "},
	{{"traceparent", "tracestate"}, "tracestate",
		"x-wpool-renewed:l=1 tracestate:S=\"set\" s:S=\"k\" traceparent:S=\"m\" "},
	{{"x-wpool-cut", "x-wpool-reason"}, "b", "x-wpool-renewed:l=1 b:S=\"set\" s:S=\"k\" "},
	{{"CC", "TimeoutMilliseconds"}, "s", "x-wpool-renewed:l=1 s:S=\"set\" "},
};

START_TEST(a_copy_has_the_headers_of_the_rest)
{
	for (size_t i = 0; i < sizeof kept_cases / sizeof *kept_cases; i++) {
		struct rest rest;
		struct trial t;
		rest_init(&rest);
		trial_init(&t);
		for (size_t k = 0; k < 2; k++)
			table_put_string(&rest.before, text_from(kept_cases[i].key[k]), TEXT("m"));
		table_put_string(&rest.after, text_from(kept_cases[i].set), TEXT("set"));
		t.delivery = rest_make(&rest);
		trial_run(&t, PARCEL_RENEW);
		assert_table(t.properties.value[PROPERTY_HEADERS], kept_cases[i].expected);
		ck_assert_text_eq(t.publish.body, TEXT("new"));
		ck_assert_text_eq(t.properties.value[PROPERTY_CONTENT_TYPE], TEXT("t/t"));
		ck_assert_text_eq(t.properties.value[PROPERTY_MESSAGE_ID], TEXT("m-1"));
		t.delivery = NULL;
		trial_release(&t);
		rest_release(&rest);
	}
}
END_TEST

START_TEST(a_reply_has_the_trace_of_the_rest)
{
	struct rest rest;
	struct trial t;
	rest_init(&rest);
	trial_init(&t);
	table_put_string(&rest.before, TEXT("traceparent"), TEXT("first"));
	table_put_string(&rest.after, TEXT("traceparent"), TEXT("second"));
	t.delivery = rest_make(&rest);
	trial_run(&t, PARCEL_REPLY);
	assert_table(t.properties.value[PROPERTY_HEADERS], "traceparent:S=\"second\" ");
	ck_assert_text_eq(t.properties.value[PROPERTY_CONTENT_TYPE], TEXT("t/t"));
	t.delivery = NULL;
	trial_release(&t);
	rest_release(&rest);
}
END_TEST

/* Its attempts were counted in memory, and its first failure was 90 s ago. */
START_TEST(a_dead_letter_counts_what_was_kept_in_memory)
{
	struct rest rest;
	struct trial t;
	rest_init(&rest);
	trial_init(&t);
	t.delivery = rest_make(&rest);
	t.delivery->attempt = 2;
	t.delivery->slice = 4;
	t.parcel.reason = REASON_FAILED;
	t.parcel.failing_for = 90 * MTIME_SECOND + 1;
	trial_run(&t, PARCEL_DEAD_LETTER);
	assert_table(t.properties.value[PROPERTY_HEADERS],
		"x-wpool-attempt:l=3 x-wpool-reason:S=\"failed\" x-wpool-queue:S=\"orders\" "
		"x-wpool-first-failed:T=1699999910 x-wpool-slice:l=4 s:S=\"k\" ");
	t.delivery = NULL;
	trial_release(&t);
	rest_release(&rest);
}
END_TEST

START_TEST(a_message_that_never_ran_counts_no_attempt)
{
	static const enum reason reasons[] = {
		REASON_NO_SESSION, REASON_BAD_SESSION, REASON_SESSION_CLOSED};
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
		struct trial t;
		struct table_field attempt;
		int64_t number;
		trial_init(&t);
		t.parcel.reason = reasons[i];
		trial_run(&t, PARCEL_DEAD_LETTER);
		ck_assert(table_find(
			t.properties.value[PROPERTY_HEADERS], TEXT("x-wpool-attempt"), &attempt));
		ck_assert(table_field_integer(&attempt, &number) && number == 0);
		trial_release(&t);
	}
}
END_TEST

/* A message may have a header more than once. What is added to a largest rest keeps it a table that
 * can be read. */
START_TEST(of_a_trace_that_is_there_often_the_last_is_kept)
{
	struct rest rest;
	struct buf out, scratch;
	struct table_field trace;
	rest_init(&rest);
	buf_init(&out, TASK_LIMIT);
	buf_init(&scratch, SIZE_MAX);
	for (int i = 0; i < TABLE_FIELDS_MAX - 3; i++)
		table_put_string(&rest.before, TEXT("traceparent"), TEXT("m"));
	table_put_string(&rest.before, TEXT("traceparent"), TEXT("last"));
	for (int i = 0; i < REPLY_FIELDS_MAX; i++)
		table_put_bool(&rest.after, TEXT("h"), true);
	struct delivery *d = rest_make(&rest);
	struct text table = rest_headers(d, &scratch);
	ck_assert_int_eq(table_check(table), RC_OK);
	ck_assert(table_find(table, TEXT("traceparent"), &trace));
	ck_assert_text_eq(trace.value, TEXT("last"));
	ck_assert_int_eq(task_write(d, &task_plain_options, 1, 0, &out, NULL), RC_OK);
	buf_release(&scratch);
	buf_release(&out);
	rest_release(&rest);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/rest");
	UNIT_CASE(s, "task", the_next_task_is_the_rest, a_large_rest_is_copied,
		of_a_trace_that_is_there_often_the_last_is_kept);
	UNIT_CASE(s, "copies", a_copy_has_the_headers_of_the_rest,
		a_reply_has_the_trace_of_the_rest, a_dead_letter_counts_what_was_kept_in_memory,
		a_message_that_never_ran_counts_no_attempt);
	return s;
}

UNIT_MAIN(suite)
