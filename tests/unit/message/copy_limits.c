/* copy_build at the limits of a header frame and of memory: which headers are left out, and that
 * x-wpool-cut names them. */
#include "unit/support/message/trial.h"
#include <stdio.h>

static void put_filler(struct buf *table, const char *key, size_t len)
{
	char *value = calloc(1, len + 1);
	table_put_string(table, text_from(key), text_of(value, len));
	free(value);
}

static struct text cut_names(const struct trial *t)
{
	struct table_field cut;
	return table_find(t->properties.value[PROPERTY_HEADERS], TEXT("x-wpool-cut"), &cut)
		       ? cut.value
		       : TEXT_NONE;
}

static bool has_header(const struct trial *t, const char *key)
{
	struct table_field field;
	return table_find(t->properties.value[PROPERTY_HEADERS], text_from(key), &field);
}

/* The largest header that fits stays; with one byte more it is left out. */
START_TEST(a_header_that_exceeds_the_frame_is_left_out)
{
	struct copy_options small = trial_options;
	small.frame_max = 4096;
	struct properties none = {0};
	struct trial t;
	trial_init(&t);
	put_filler(&t.task_headers, "big", 100);
	table_put_string(&t.task_headers, TEXT("small"), TEXT("v"));
	trial_run_with(&t, PARCEL_RETRY, &none, &small);
	size_t used = 8 + 12 + t.publish.properties.len - 100;
	ck_assert_uint_eq(cut_names(&t).len, 0);
	trial_release(&t);

	for (size_t over = 0; over < 2; over++) {
		trial_init(&t);
		put_filler(&t.task_headers, "big", small.frame_max - used + over);
		table_put_string(&t.task_headers, TEXT("small"), TEXT("v"));
		trial_run_with(&t, PARCEL_RETRY, &none, &small);
		ck_assert(has_header(&t, "small"));
		ck_assert_int_eq(has_header(&t, "big"), !over);
		ck_assert_text_eq(cut_names(&t), over ? TEXT("big") : TEXT_NONE);
		if (!over)
			ck_assert_uint_eq(8 + 12 + t.publish.properties.len, small.frame_max);
		trial_release(&t);
	}
}
END_TEST

START_TEST(the_largest_headers_are_left_out_first)
{
	struct copy_options small = trial_options;
	small.frame_max = 4096;
	struct properties none = {0};
	struct trial t;
	trial_init(&t);
	put_filler(&t.task_headers, "a", 700);
	put_filler(&t.task_headers, "b", 3000);
	put_filler(&t.task_headers, "c", 800);
	put_filler(&t.task_headers, "d\xff", 2500);
	table_put_string(&t.task_headers, TEXT("x-wpool-cut"), TEXT("before"));
	trial_run_with(&t, PARCEL_DEAD_LETTER, &none, &small);
	ck_assert(has_header(&t, "a") && has_header(&t, "c"));
	ck_assert(!has_header(&t, "b") && !has_header(&t, "d\xff"));
	ck_assert(has_header(&t, "x-wpool-reason") && has_header(&t, "x-wpool-attempt"));
	ck_assert_text_eq(cut_names(&t), TEXT("before, b, d\xef\xbf\xbd"));
	trial_release(&t);
}
END_TEST

/* The list of left-out headers is limited, too. */
START_TEST(the_longest_properties_fit_the_smallest_frame)
{
	struct copy_options small = trial_options;
	small.frame_max = 4096;
	char longest[255];
	memset(longest, 'q', sizeof longest);
	small.queue = small.dead_letter = text_of(longest, sizeof longest);
	struct properties all = all_properties();
	static const enum property texts[] = {PROPERTY_CONTENT_TYPE, PROPERTY_CONTENT_ENCODING,
		PROPERTY_CORRELATION_ID, PROPERTY_REPLY_TO, PROPERTY_MESSAGE_ID, PROPERTY_TYPE,
		PROPERTY_APP_ID};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		properties_set(&all, texts[i], text_of(longest, sizeof longest));
	struct trial t;
	trial_init(&t);
	for (int i = 0; i < 100; i++) {
		char key[256];
		snprintf(key, sizeof key, "%0*d", 20 + i, i);
		put_filler(&t.task_headers, key, 2000);
	}
	t.parcel.reason = REASON_REJECTED;
	char stage[400];
	memset(stage, 's', sizeof stage);
	stage[sizeof stage - 1] = '\0';
	t.parcel.exit = (struct exit_info){EXIT_NOT_STARTED, INT32_MIN, stage};
	trial_run_with(&t, PARCEL_DEAD_LETTER, &all, &small);
	struct text names = cut_names(&t);
	ck_assert_uint_le(names.len, 255);
	ck_assert(text_is(text_of(names.ptr + names.len - 5, 5), TEXT(", ...")));

	/* the copy of that copy still names what the first one left out */
	struct trial again;
	trial_init(&again);
	buf_append_text(&again.task_headers, t.properties.value[PROPERTY_HEADERS]);
	trial_run_with(&again, PARCEL_DEAD_LETTER, &all, &small);
	ck_assert_text_eq(cut_names(&again), names);
	trial_release(&again);
	trial_release(&t);
}
END_TEST

/* count fields, as a publisher might send them; nested: in arrays, which count as three. */
static void put_fields(struct buf *table, size_t count, bool nested)
{
	for (size_t i = 0; count > 0; i++) {
		char key[16];
		snprintf(key, sizeof key, "h%zu", i);
		if (nested && count >= 3) {
			put_hex(table, key, 'A', "'V' 'V'");
			count -= 3;
		} else {
			put_hex(table, key, 'V', "");
			count--;
		}
	}
}

/* The headers that a dead-letter exchange of the broker adds. */
static void put_broker_fields(struct buf *table)
{
	static const char *const texts[] = {"x-first-death-reason", "x-first-death-queue",
		"x-first-death-exchange", "x-last-death-reason", "x-last-death-queue",
		"x-last-death-exchange"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		table_put_string(table, text_from(texts[i]), TEXT("q"));
	put_hex(table, "x-death", 'A',
		"'F' 00 00 00 1c 05'count' 'V' 06'reason' 'V' 05'queue' 'V' 04'time' 'V'");
	table_put_integer(table, TEXT("x-delivery-count"), 1);
}

/* Copy a message that we can read as a retry, add what the broker's dead-lettering adds, and read
 * it again, three times; then copy it as a dead letter. */
static void copy_repeatedly(size_t count, bool nested)
{
	struct buf table;
	buf_init(&table, SIZE_MAX);
	put_fields(&table, count, nested);
	for (int round = 0; round < 4; round++) {
		struct trial t;
		trial_init(&t);
		buf_append_text(&t.task_headers, buf_text(&table));
		t.parcel.reason = REASON_FAILED;
		trial_run(&t, round < 3 ? PARCEL_RETRY : PARCEL_DEAD_LETTER);
		ck_assert_msg(
			t.delivery->invalid == REASON_NONE, "%zu fields, round %d", count, round);
		ck_assert_int_eq(t.delivery->attempt, round);
		struct text out = t.properties.value[PROPERTY_HEADERS];
		ck_assert_uint_le(table_count(out, true), COPY_FIELDS_MAX);
		ck_assert_int_eq(cut_names(&t).len > 0, count + 8 > COPY_FIELDS_MAX);
		buf_clear(&table);
		buf_append_text(&table, out);
		put_broker_fields(&table);
		trial_release(&t);
	}
	ck_assert_int_eq(table_check(buf_text(&table)), RC_OK);
	buf_release(&table);
}

START_TEST(a_copy_can_be_read_and_copied_again)
{
	static const size_t counts[] = {
		100, COPY_FIELDS_MAX - 8, COPY_FIELDS_MAX, TABLE_FIELDS_MAX - 1, TABLE_FIELDS_MAX};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		copy_repeatedly(counts[i], false);
		copy_repeatedly(counts[i], true);
	}
}
END_TEST

/* A smaller field after one that does not fit stays. */
START_TEST(the_last_fields_over_the_limit_are_left_out)
{
	struct trial t;
	trial_init(&t);
	put_fields(&t.task_headers, COPY_FIELDS_MAX - 8, false);
	put_hex(&t.task_headers, "wide", 'A', "'V' 'V' 'V' 'V'");
	put_hex(&t.task_headers, "one", 'V', "");
	trial_run(&t, PARCEL_RETRY);
	ck_assert(has_header(&t, "h0") && has_header(&t, "one") && !has_header(&t, "wide"));
	ck_assert_text_eq(cut_names(&t), TEXT("wide"));
	trial_release(&t);
}
END_TEST

/* A count that was left out would start at 0 again, and its limit would never be reached. */
START_TEST(counts_are_never_left_out)
{
	static const enum parcel_kind kinds[] = {PARCEL_RETRY, PARCEL_DEAD_LETTER, PARCEL_RENEW};
	static const size_t fields[] = {COPY_FIELDS_MAX, 100};
	struct copy_options small = trial_options;
	struct properties none = {0};
	for (int i = 0; i < 6; i++) {
		struct trial t;
		size_t count = fields[i % 2];
		trial_init(&t);
		put_fields(&t.task_headers, count, false);
		table_put_integer(&t.task_headers, TEXT("x-wpool-attempt"), 3);
		table_put_integer(&t.task_headers, TEXT("x-wpool-slice"), 4);
		table_put_integer(&t.task_headers, TEXT("x-wpool-renewed"), 5);
		table_put_string(&t.task_headers, TEXT("x-wpool-queue"), TEXT("first"));
		small.frame_max = count > 100 ? TRIAL_FRAME_MAX : 500;
		trial_run_with(&t, kinds[i / 2], &none, &small);
		ck_assert_uint_gt(cut_names(&t).len, 0);
		ck_assert(has_header(&t, "x-wpool-attempt") && has_header(&t, "x-wpool-slice"));
		ck_assert(has_header(&t, "x-wpool-renewed"));
		/* the forged one is gone: the pool names its own queue, or none */
		ck_assert_int_eq(has_header(&t, "x-wpool-queue"), kinds[i / 2] != PARCEL_RENEW);
		trial_release(&t);
	}
}
END_TEST

START_TEST(without_a_frame_limit_all_headers_stay)
{
	struct copy_options unlimited = trial_options;
	unlimited.frame_max = 0;
	struct properties none = {0};
	struct trial t;
	trial_init(&t);
	put_filler(&t.task_headers, "big", 1 << 20);
	trial_run_with(&t, PARCEL_RETRY, &none, &unlimited);
	ck_assert(has_header(&t, "big"));
	trial_release(&t);
}
END_TEST

START_TEST(a_full_scratch_buffer_is_out_of_memory)
{
	struct trial t;
	trial_init(&t);
	trial_run(&t, PARCEL_RETRY);
	size_t needed = t.publish.properties.len;
	for (size_t limit = 1; limit <= needed; limit++) {
		struct buf scratch;
		struct amqp_publish publish;
		buf_init(&scratch, limit);
		ck_assert_int_eq(copy_build(&t.parcel, &trial_options, &scratch, &publish),
			limit < needed ? RC_MEMORY : RC_OK);
		buf_release(&scratch);
	}
	trial_release(&t);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/copy_limits");
	UNIT_CASE(s, "frame", a_header_that_exceeds_the_frame_is_left_out,
		the_largest_headers_are_left_out_first,
		the_longest_properties_fit_the_smallest_frame,
		without_a_frame_limit_all_headers_stay);
	UNIT_CASE(s, "fields", a_copy_can_be_read_and_copied_again,
		the_last_fields_over_the_limit_are_left_out, counts_are_never_left_out);
	UNIT_CASE(s, "memory", a_full_scratch_buffer_is_out_of_memory);
	return s;
}

UNIT_MAIN(suite)
