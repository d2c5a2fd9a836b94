/* The handover of sessions as bytes. */
#include "message/handover.h"
#include "unit/unit.h"

#include <stdlib.h>

static const struct session_handover samples[] = {
	{.key = TEXT("a"), .is_paused = true},
	{.key = TEXT("\xc3\xa9"),
		.has_message = true,
		.is_high = true,
		.is_later = true,
		.is_blocked = true,
		.reason = REASON_REJECTED,
		.wait = 1500 * MTIME_MS,
		.attempt = 65535,
		.slice = UINT32_MAX},
	{.key = TEXT("b"),
		.has_message = true,
		.has_rest = true,
		.body = TEXT("rest"),
		.content_type = TEXT("text/plain")},
};

#define SAMPLES (sizeof samples / sizeof *samples)

static struct buf written(size_t size_max)
{
	struct handover_writer writer;
	struct buf bytes;
	handover_init(&writer, size_max);
	for (size_t i = 0; i < SAMPLES; i++)
		handover_add(&writer, &samples[i]);
	buf_init(&bytes, size_max);
	handover_write(&writer, &bytes);
	handover_release(&writer);
	return bytes;
}

static void expect_same(const struct session_handover *one, const struct session_handover *other)
{
	ck_assert(text_is(one->key, other->key));
	ck_assert_int_eq(one->is_paused, other->is_paused);
	ck_assert_int_eq(one->has_message, other->has_message);
	ck_assert_int_eq(one->is_high, other->is_high);
	ck_assert_int_eq(one->is_later, other->is_later);
	ck_assert_int_eq(one->is_blocked, other->is_blocked);
	ck_assert_int_eq(one->reason, other->reason);
	ck_assert_int_eq(one->wait, other->wait);
	ck_assert_uint_eq(one->attempt, other->attempt);
	ck_assert_uint_eq(one->slice, other->slice);
	ck_assert_int_eq(one->has_rest, other->has_rest);
	ck_assert(text_is(one->body, other->body));
	ck_assert(text_is(one->headers, other->headers));
	ck_assert(text_is(one->content_type, other->content_type));
}

START_TEST(what_is_written_is_read)
{
	struct buf bytes = written(4096);
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
	ck_assert_uint_eq(writer.left_out, 1);
	handover_release(&writer);
}
END_TEST

/* Every single changed byte and every cut: nothing is read beyond its end, and no member leaves its
 * range. */
START_TEST(forged_bytes_are_refused_or_harmless)
{
	struct buf bytes = written(4096);
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
					ck_assert(
						all[i].key.len > 0 && all[i].reason < REASON_COUNT);
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
		what_does_not_fit_is_left_out_and_counted, forged_bytes_are_refused_or_harmless);
	return suite;
}

UNIT_MAIN(handover_suite)
