/* copy_build: copies that wait in a retry queue, renewals, and the headers of a dead letter about
 * the worker that died. */
#include "unit/support/message/trial.h"

/* A renewal is no attempt. */
START_TEST(a_renewal_changes_only_its_count)
{
	struct trial t;
	trial_init(&t);
	table_put_integer(&t.task_headers, TEXT("x-wpool-attempt"), 2);
	table_put_string(&t.task_headers, TEXT("x-wpool-reason"), TEXT("failed"));
	put_hex(&t.task_headers, "x-wpool-first-failed", 'T', SEVEN_ZEROS " 09");
	table_put_integer(&t.task_headers, TEXT("x-wpool-status"), 503);
	put_hex(&t.task_headers, "x-delivery-count", 'l', SEVEN_ZEROS " 0a");
	put_hex(&t.task_headers, "CC", 'S', "'q'");
	table_put_integer(&t.task_headers, TEXT("x-wpool-renewed"), 4);
	table_put_string(&t.task_headers, TEXT("x-wpool-cut"), TEXT("gone"));
	trial_run(&t, PARCEL_RENEW);
	assert_table(t.properties.value[PROPERTY_HEADERS],
		"x-wpool-renewed:l=5 x-wpool-attempt:l=2 x-wpool-reason:S=\"failed\" "
		"x-wpool-first-failed:T=9 x-wpool-status:l=503 x-wpool-cc:S=\"q\" "
		"x-wpool-cut:S=\"gone\" ");
	trial_release(&t);
}
END_TEST

START_TEST(later_copies_keep_the_count_of_renewals)
{
	static const enum parcel_kind kinds[] = {PARCEL_RETRY, PARCEL_DEAD_LETTER};
	for (size_t i = 0; i < 2; i++) {
		struct table_field field;
		int64_t renewed;
		struct trial t;
		trial_init(&t);
		table_put_integer(&t.task_headers, TEXT("x-wpool-renewed"), 10);
		t.parcel.reason = REASON_COMES_BACK;
		trial_run(&t, kinds[i]);
		struct text table = t.properties.value[PROPERTY_HEADERS];
		ck_assert(table_find(table, TEXT("x-wpool-renewed"), &field));
		ck_assert(table_field_integer(&field, &renewed) && renewed == 10);
		/* it is not known how often it was begun: none of the renewals is an attempt */
		ck_assert(table_find(table, TEXT("x-wpool-attempt"), &field));
		ck_assert(table_field_integer(&field, &renewed) && renewed == 0);
		trial_release(&t);
	}
}
END_TEST

START_TEST(only_what_is_delayed_goes_to_a_retry_queue)
{
	static const struct {
		enum parcel_kind kind;
		mtime delay;
		const char *name, *target, *expiration;
	} delays[] = {
		{PARCEL_RETRY, MTIME_SECOND, "orders.retry.1s", "orders.retry.1s", "1050"},
		{PARCEL_RETRY, 0, "orders.retry.1s", "orders", NULL},
		{PARCEL_RETRY, MTIME_SECOND, "", "orders",
			NULL}, /* the name is too long: no delay */
		{PARCEL_DEAD_LETTER, MTIME_SECOND, "orders.retry.1s", "orders.dead", NULL},
		{PARCEL_RENEW, MTIME_SECOND, "orders.retry.1s", "orders", NULL},
		{PARCEL_HAND_BACK, MTIME_SECOND, "orders.retry.1s", "answers", NULL},
		{PARCEL_POSTPONE, MTIME_SECOND, "orders.retry.1s", "orders.retry.1s", "1050"},
		{PARCEL_REFUSAL, MTIME_SECOND, "orders.retry.1s", "answers", NULL},
		{PARCEL_LATER, MTIME_SECOND, "orders.wait.1s", "orders.wait.1s", "1050"},
		{PARCEL_LATER, MTIME_SECOND, "", "", NULL}, /* no queue: it is returned */
	};
	for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
		struct properties all = all_properties();
		struct copy_options options = trial_options;
		struct trial t;
		options.retry_queue = text_from(delays[i].name);
		options.expiration = TEXT("1050");
		trial_init(&t);
		t.parcel.delay = delays[i].delay;
		trial_run_with(&t, delays[i].kind, &all, &options);
		ck_assert_text_eq(t.publish.routing_key, text_from(delays[i].target));
		ck_assert(t.publish.mandatory);
		ck_assert_int_eq(properties_has(&t.properties, PROPERTY_EXPIRATION),
			delays[i].expiration != NULL);
		ck_assert_text_eq(
			t.properties.value[PROPERTY_EXPIRATION], text_from(delays[i].expiration));
		trial_release(&t);
	}
}
END_TEST

static struct text stderr_of(const struct trial *t)
{
	struct table_field field;
	return table_find(t->properties.value[PROPERTY_HEADERS], TEXT("x-wpool-stderr"), &field)
		       ? field.value
		       : TEXT_NONE;
}

START_TEST(a_dead_letter_has_the_last_stderr_line)
{
	static const struct {
		enum parcel_kind kind;
		int32_t status;
		const char *words, *expected;
	} words[] = {
		{PARCEL_DEAD_LETTER, 0, "ValueError: 7", "ValueError: 7"},
		{PARCEL_DEAD_LETTER, 0, "bad \xff byte", "bad \xef\xbf\xbd byte"},
		{PARCEL_DEAD_LETTER, 0, "", ""},
		{PARCEL_DEAD_LETTER, 500, "ValueError: 7", "ValueError: 7"},
		{PARCEL_DEAD_LETTER, 404, "", ""},
		{PARCEL_RETRY, 0, "ValueError: 7", ""},
		{PARCEL_RENEW, 0, "ValueError: 7", ""},
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		struct trial t;
		trial_init(&t);
		/* the line of an earlier worker is not this one's */
		table_put_string(&t.task_headers, TEXT("x-wpool-stderr"), TEXT("forged"));
		t.output->status = words[i].status;
		t.output->stderr_line = text_from(words[i].words);
		t.parcel.reason = REASON_CRASHED;
		trial_run(&t, words[i].kind);
		if (words[i].kind != PARCEL_RENEW)
			ck_assert_text_eq(stderr_of(&t), text_from(words[i].expected));
		trial_release(&t);
	}
}
END_TEST

/* After a protocol error we send the signal ourselves, so the error is the reason. */
START_TEST(a_protocol_error_is_named_before_the_exit)
{
	static const struct {
		struct exit_info exit;
		const char *what, *expected;
	} exits[] = {
		{{EXIT_SIGNAL, 9, NULL}, "an unknown status", "an unknown status; signal 9"},
		{{EXIT_STATUS, 3, NULL}, "closed its pipe", "closed its pipe; exit status 3"},
		{{EXIT_SIGNAL, 11, NULL}, NULL, "signal 11"},
		{{EXIT_SIGNAL, 9, "over a limit"}, NULL, "signal 9, over a limit"},
	};
	for (size_t i = 0; i < sizeof exits / sizeof *exits; i++) {
		struct trial t;
		struct table_field field;
		trial_init(&t);
		t.parcel.reason = REASON_PROTOCOL;
		t.parcel.exit = exits[i].exit;
		t.parcel.what = exits[i].what;
		trial_run(&t, PARCEL_DEAD_LETTER);
		ck_assert(table_find(
			t.properties.value[PROPERTY_HEADERS], TEXT("x-wpool-exit"), &field));
		ck_assert_text_eq(field.value, text_from(exits[i].expected));
		trial_release(&t);
	}
}
END_TEST

/* At most 1 KiB, an eighth of the frame, and never half a character. */
START_TEST(a_long_stderr_line_is_cut_at_a_character)
{
	static const struct {
		uint32_t frame_max;
		size_t expected;
	} limits[] = {{131072, 1024}, {0, 1024}, {8192, 1024}, {4096, 512}};
	char words[1 + 2048] = "x";
	for (size_t i = 1; i < sizeof words; i += 2)
		memcpy(words + i, "\xc3\xa9", 2);
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		for (size_t shift = 0; shift < 2; shift++) {
			struct properties none = {0};
			struct copy_options options = trial_options;
			struct trial t;
			options.frame_max = limits[i].frame_max;
			trial_init(&t);
			t.output->status = 0;
			t.output->stderr_line = text_of(words + 1 - shift, 2048);
			t.parcel.reason = REASON_CRASHED;
			trial_run_with(&t, PARCEL_DEAD_LETTER, &none, &options);
			ck_assert_uint_eq(stderr_of(&t).len, limits[i].expected - shift);
			trial_release(&t);
		}
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/copy_detours");
	UNIT_CASE(s, "copies", only_what_is_delayed_goes_to_a_retry_queue,
		a_renewal_changes_only_its_count, later_copies_keep_the_count_of_renewals);
	UNIT_CASE(s, "last words", a_dead_letter_has_the_last_stderr_line,
		a_long_stderr_line_is_cut_at_a_character,
		a_protocol_error_is_named_before_the_exit);
	return s;
}

UNIT_MAIN(suite)
