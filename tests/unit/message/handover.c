/* The handover of sessions as bytes. */
#include "message/handover.h"

#include "message/copy.h"
#include "message/key_source.h"
#include "unit/unit.h"

#include <stdlib.h>

/* The entries of a header table: n is 5, as l. */
#define TABLE "\1nl\0\0\0\0\0\0\0\5"

static const struct session_handover samples[] = {
	{.key = TEXT("a"), .is_paused = true},
	{.key = TEXT("\xc3\xa9"),
		.has_message = true,
		.past.is_high = true,
		.past.is_later = true,
		.past.is_blocked = true,
		.past.reason = REASON_REJECTED,
		.past.wait = 1500 * MTIME_MS,
		.past.attempt = 65535,
		.past.slice = UINT32_MAX},
	{.key = TEXT("b"),
		.has_message = true,
		.has_rest = true,
		.body = TEXT("rest"),
		.headers = TEXT(TABLE),
		.content_type = TEXT("text/plain")},
};

#define SAMPLES (sizeof samples / sizeof *samples)

static struct buf written(const struct session_handover *all, size_t count, size_t size_max)
{
	struct handover_writer writer;
	struct buf bytes;
	handover_init(&writer, size_max);
	for (size_t i = 0; i < count; i++)
		handover_add(&writer, &all[i]);
	buf_init(&bytes, size_max);
	ck_assert(handover_write(&writer, &bytes));
	handover_release(&writer);
	return bytes;
}

static void expect_same(const struct session_handover *one, const struct session_handover *other)
{
	ck_assert(text_is(one->key, other->key));
	ck_assert_int_eq(one->is_paused, other->is_paused);
	ck_assert_int_eq(one->has_message, other->has_message);
	ck_assert_int_eq(one->past.is_high, other->past.is_high);
	ck_assert_int_eq(one->past.is_later, other->past.is_later);
	ck_assert_int_eq(one->past.is_blocked, other->past.is_blocked);
	ck_assert_int_eq(one->past.reason, other->past.reason);
	ck_assert_int_eq(one->past.wait, other->past.wait);
	ck_assert_uint_eq(one->past.attempt, other->past.attempt);
	ck_assert_uint_eq(one->past.slice, other->past.slice);
	ck_assert_int_eq(one->has_rest, other->has_rest);
	ck_assert(text_is(one->body, other->body));
	ck_assert(text_is(one->headers, other->headers));
	ck_assert(text_is(one->content_type, other->content_type));
}

START_TEST(what_is_written_is_read)
{
	struct buf bytes = written(samples, SAMPLES, 4096);
	struct session_handover *all;
	size_t count;
	ck_assert_int_eq(handover_read(buf_text(&bytes), &all, &count), RC_OK);
	ck_assert_uint_eq(count, SAMPLES);
	for (size_t i = 0; i < SAMPLES; i++)
		expect_same(&all[i], &samples[i]);
	free(all);
	buf_release(&bytes);
}
END_TEST

START_TEST(what_does_not_fit_is_left_out_and_counted)
{
	struct handover_writer writer;
	handover_init(&writer, 40);
	for (int i = 0; i < 4; i++)
		handover_add(&writer, &samples[0]);
	ck_assert_uint_eq(writer.count, 3);
	ck_assert_uint_eq(writer.left_out.count, 1);
	ck_assert(text_is(text_of(writer.left_out.key, writer.left_out.len), samples[0].key));
	handover_clear(&writer);
	ck_assert_uint_eq(writer.count + writer.left_out.count, 0);
	handover_release(&writer);
}
END_TEST

#define SIZE_MAX_OF_ALL 400

static const struct session_handover blocked = {.key = TEXT("blocked"),
	.has_message = true,
	.past.is_later = true,
	.past.is_blocked = true,
	.past.reason = REASON_REJECTED,
	.past.attempt = 3,
	.past.slice = 2};
static const struct session_handover parked = {.key = TEXT("parked"),
	.has_message = true,
	.past.is_later = true,
	.past.reason = REASON_FAILED,
	.past.attempt = 1};
static const struct session_handover paused = {.key = TEXT("paused"), .is_paused = true};

static struct session_handover with_rest(const struct session_handover *handover, size_t size)
{
	static const char bytes[2 * SIZE_MAX_OF_ALL];
	struct session_handover copy = *handover;
	copy.has_rest = true;
	copy.body = text_of(bytes, size);
	return copy;
}

struct outcome {
	struct handover_writer writer;
	struct buf bytes;
	struct session_handover *all;
	size_t count;
};

/* Each is added `times` before the next one. */
static void outcome_init(
	struct outcome *outcome, const struct session_handover *all[], const size_t times[])
{
	handover_init(&outcome->writer, SIZE_MAX_OF_ALL);
	for (size_t i = 0; all[i]; i++)
		for (size_t n = 0; n < times[i]; n++)
			handover_add(&outcome->writer, all[i]);
	buf_init(&outcome->bytes, SIZE_MAX_OF_ALL);
	ck_assert(handover_write(&outcome->writer, &outcome->bytes));
	ck_assert_int_eq(
		handover_read(buf_text(&outcome->bytes), &outcome->all, &outcome->count), RC_OK);
}

static void outcome_release(struct outcome *outcome)
{
	handover_release(&outcome->writer);
	buf_release(&outcome->bytes);
	free(outcome->all);
}

static size_t count_of(const struct outcome *outcome, const struct session_handover *wanted)
{
	size_t count = 0;
	for (size_t i = 0; i < outcome->count; i++) {
		if (!text_is(outcome->all[i].key, wanted->key))
			continue;
		expect_same(&outcome->all[i], wanted);
		count++;
	}
	return count;
}

START_TEST(one_whose_rest_does_not_fit_keeps_all_else)
{
	struct session_handover large = with_rest(&blocked, 2 * SIZE_MAX_OF_ALL);
	struct outcome outcome;
	outcome_init(&outcome, (const struct session_handover *[]){&large, NULL}, (size_t[]){1});
	ck_assert_uint_eq(count_of(&outcome, &blocked), 1);
	ck_assert_uint_eq(outcome.writer.without_rest.count, 1);
	ck_assert_uint_eq(outcome.writer.left_out.count, 0);
	outcome_release(&outcome);
}
END_TEST

START_TEST(a_large_rest_pushes_none_out)
{
	struct session_handover large = with_rest(&parked, SIZE_MAX_OF_ALL - 50);
	struct outcome outcome;
	outcome_init(&outcome, (const struct session_handover *[]){&large, NULL}, (size_t[]){1});
	ck_assert_uint_eq(count_of(&outcome, &large), 1);
	outcome_release(&outcome);
	outcome_init(&outcome, (const struct session_handover *[]){&large, &paused, &blocked, NULL},
		(size_t[]){1, 2, 2});
	ck_assert_uint_eq(count_of(&outcome, &paused), 2);
	ck_assert_uint_eq(count_of(&outcome, &blocked), 2);
	ck_assert_uint_eq(count_of(&outcome, &parked), 1);
	ck_assert_uint_eq(outcome.writer.without_rest.count, 1);
	ck_assert_uint_eq(outcome.writer.left_out.count, 0);
	outcome_release(&outcome);
}
END_TEST

START_TEST(blocked_and_paused_ones_are_kept_first)
{
	struct outcome outcome;
	outcome_init(&outcome,
		(const struct session_handover *[]){&parked, &paused, &blocked, NULL},
		(size_t[]){100, 3, 3});
	ck_assert_uint_eq(count_of(&outcome, &paused), 3);
	ck_assert_uint_eq(count_of(&outcome, &blocked), 3);
	ck_assert_uint_gt(count_of(&outcome, &parked), 0);
	ck_assert_uint_eq(outcome.writer.left_out.count, 106 - outcome.count);
	outcome_release(&outcome);
	outcome_init(&outcome,
		(const struct session_handover *[]){&parked, &blocked, &parked, NULL},
		(size_t[]){1, 100, 1});
	ck_assert_uint_eq(count_of(&outcome, &parked), 0);
	ck_assert_uint_eq(outcome.writer.left_out.count, 102 - outcome.count);
	outcome_release(&outcome);
}
END_TEST

/* One that is cut would be malformed: everything would be lost. */
START_TEST(all_is_written_or_nothing)
{
	struct buf whole = written(samples, SAMPLES, 4096);
	struct handover_writer writer;
	handover_init(&writer, 4096);
	for (size_t i = 0; i < SAMPLES; i++)
		handover_add(&writer, &samples[i]);
	for (size_t limit = 1; limit <= buf_len(&whole); limit++) {
		struct buf bytes;
		bool fits = limit == buf_len(&whole);
		buf_init(&bytes, limit);
		ck_assert_int_eq(handover_write(&writer, &bytes), fits);
		ck_assert_uint_eq(buf_len(&bytes), fits ? limit : 0);
		ck_assert(!bytes.failed);
		buf_release(&bytes);
	}
	handover_release(&writer);
	buf_release(&whole);
}
END_TEST

START_TEST(a_largest_name_fits)
{
	static char key[SESSION_KEY_MAX];
	struct session_handover name = {.key = text_of(key, sizeof key),
		.has_message = true,
		.past.is_high = true,
		.past.is_poison = true,
		.past.wait = INT64_MAX / MTIME_MS * MTIME_MS,
		.past.attempt = UINT16_MAX,
		.past.slice = UINT32_MAX};
	struct session_handover *all;
	size_t count;
	struct buf bytes;
	memset(key, 'k', sizeof key);
	for (int reason = 0; reason < REASON_COUNT; reason++) {
		name.past.reason = (enum reason)reason;
		buf_init(&bytes, HANDOVER_NAME_MAX);
		ck_assert(handover_write_name(&name, &bytes));
		ck_assert_int_eq(handover_read(buf_text(&bytes), &all, &count), RC_OK);
		ck_assert_uint_eq(count, 1);
		expect_same(&all[0], &name);
		free(all);
		buf_release(&bytes);
	}
	buf_init(&bytes, sizeof key);
	ck_assert(!handover_write_name(&name, &bytes));
	ck_assert_uint_eq(buf_len(&bytes), 0);
	buf_release(&bytes);
}
END_TEST

static bool is_accepted(const struct session_handover *handover)
{
	struct buf bytes = written(handover, 1, 1u << 20);
	struct session_handover *all = NULL;
	size_t count;
	enum rc rc = handover_read(buf_text(&bytes), &all, &count);
	ck_assert(rc == RC_OK || rc == RC_MALFORMED);
	free(all);
	buf_release(&bytes);
	return rc == RC_OK;
}

/* A publisher may write them; each member up to its maximum is accepted, and not beyond it. */
START_TEST(a_member_over_its_maximum_is_refused)
{
	static char key[SESSION_KEY_MAX + 1], type[SHORT_STRING_MAX + 1];
	struct session_handover handover = samples[2];
	struct buf headers;
	memset(key, 'k', sizeof key);
	memset(type, 't', sizeof type);
	for (int excess = 0; excess < 2; excess++) {
		handover.key = text_of(key, SESSION_KEY_MAX + (size_t)excess);
		ck_assert_int_eq(is_accepted(&handover), !excess);
	}
	handover.key = TEXT("k");
	for (int excess = 0; excess < 2; excess++) {
		handover.content_type = text_of(type, SHORT_STRING_MAX + (size_t)excess);
		ck_assert_int_eq(is_accepted(&handover), !excess);
	}
	handover.content_type = TEXT_NONE;
	buf_init(&headers, 1u << 20);
	for (int i = 0; i < REPLY_FIELDS_MAX; i++)
		table_put_bool(&headers, TEXT("h"), true);
	handover.headers = buf_text(&headers);
	ck_assert(is_accepted(&handover));
	table_put_bool(&headers, TEXT("h"), true);
	handover.headers = buf_text(&headers);
	ck_assert(!is_accepted(&handover));
	handover.headers = TEXT("\1n");
	ck_assert(!is_accepted(&handover));
	buf_release(&headers);
}
END_TEST

/* Body, headers and content type are there together or not at all. */
START_TEST(a_part_of_a_rest_is_refused)
{
	struct buf bytes = written(&samples[2], 1, 4096);
	struct session_handover *all;
	size_t count;
	size_t type = buf_len(&bytes) - samples[2].content_type.len - 2;
	buf_truncate(&bytes, type);
	buf_append_byte(&bytes, 0xc0);
	ck_assert_int_eq(handover_read(buf_text(&bytes), &all, &count), RC_MALFORMED);
	buf_release(&bytes);
}
END_TEST

static void expect_in_range(const struct session_handover *handover)
{
	ck_assert(handover->key.len > 0 && handover->key.len <= SESSION_KEY_MAX);
	ck_assert(handover->past.reason < REASON_COUNT);
	ck_assert(handover->past.wait >= 0);
	ck_assert(handover->past.is_later || !handover->past.is_blocked);
	ck_assert(handover->has_rest ||
		  handover->body.len + handover->headers.len + handover->content_type.len == 0);
	ck_assert(reply_headers_fit(handover->headers));
	ck_assert(handover->content_type.len <= SHORT_STRING_MAX);
}

/* Every single changed byte and every cut: nothing is read beyond its end, and no member leaves its
 * range. */
START_TEST(forged_bytes_are_refused_or_harmless)
{
	struct buf bytes = written(samples, SAMPLES, 4096);
	struct text text = buf_text(&bytes);
	struct session_handover *all;
	size_t count;
	for (size_t at = 0; at < text.len; at++) {
		ck_assert_int_eq(handover_read(text_of(text.ptr, at), &all, &count), RC_MALFORMED);
		for (int byte = 0; byte < 256; byte++) {
			char *copy = malloc(text.len);
			memcpy(copy, text.ptr, text.len);
			copy[at] = (char)byte;
			if (handover_read(text_of(copy, text.len), &all, &count) == RC_OK) {
				for (size_t i = 0; i < count; i++)
					expect_in_range(&all[i]);
				free(all);
			}
			free(copy);
		}
	}
	buf_release(&bytes);
}
END_TEST

static Suite *handover_suite(void)
{
	Suite *suite = suite_create("message/handover");
	UNIT_CASE(suite, "handover", what_is_written_is_read,
		what_does_not_fit_is_left_out_and_counted,
		one_whose_rest_does_not_fit_keeps_all_else, a_large_rest_pushes_none_out,
		blocked_and_paused_ones_are_kept_first, all_is_written_or_nothing,
		a_largest_name_fits, a_member_over_its_maximum_is_refused,
		a_part_of_a_rest_is_refused, forged_bytes_are_refused_or_harmless);
	return suite;
}

UNIT_MAIN(handover_suite)
