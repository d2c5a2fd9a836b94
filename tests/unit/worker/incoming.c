/* Where a frame of a worker ends, and what is kept of one that is cut. */
#include "worker/incoming.h"
#include "unit/unit.h"

#define LIMIT 300

static struct incoming incoming;
static struct text frame;
static struct answer_fault fault;

/* A length, and what comes behind it. */
static struct text bytes_of(uint8_t high, uint8_t low, size_t behind)
{
	static char bytes[4 + LIMIT + 4];
	memcpy(bytes, (const uint8_t[]){0, 0, high, low}, 4);
	memset(bytes + 4, 'x', sizeof bytes - 4);
	ck_assert_uint_le(behind, sizeof bytes - 4);
	return text_of(bytes, 4 + behind);
}

static enum rc first(struct text bytes)
{
	frame = TEXT_NONE;
	fault = (struct answer_fault){.task_id = 1};
	return incoming_first(bytes, LIMIT, &frame, &fault);
}

START_TEST(a_frame_is_found_when_all_of_it_is_there)
{
	struct text whole = bytes_of(1, 44, LIMIT);
	for (size_t len = 0; len < whole.len; len++)
		ck_assert_int_eq(first(text_of(whole.ptr, len)), RC_NOT_FOUND);
	ck_assert_int_eq(first(whole), RC_OK);
	ck_assert_ptr_eq(frame.ptr, whole.ptr + 4);
	ck_assert_uint_eq(frame.len, LIMIT);
}
END_TEST

START_TEST(what_is_behind_a_frame_is_not_part_of_it)
{
	ck_assert_int_eq(first(bytes_of(0, 1, 4)), RC_OK);
	ck_assert_uint_eq(frame.len, 1);
}
END_TEST

START_TEST(a_length_that_cannot_be_is_refused_before_its_bytes_come)
{
	ck_assert_int_eq(first(bytes_of(0, 0, 0)), RC_MALFORMED);
	ck_assert_str_eq(fault.what, "a frame of no length");
	ck_assert_uint_eq(fault.task_id, 0);
	ck_assert_int_eq(first(bytes_of(1, 45, 0)), RC_MALFORMED);
	ck_assert_str_eq(fault.what, "a frame over max_frame");
	ck_assert_ptr_nonnull(strstr(fault.detail, "max_frame is 300"));
}
END_TEST

static void end_with(struct text bytes)
{
	incoming_init(&incoming, 1000);
	buf_append_text(&incoming.bytes, bytes);
	incoming_end(&incoming);
	ck_assert_uint_eq(buf_len(&incoming.bytes), 0);
}

START_TEST(what_came_of_a_cut_frame_is_known_until_it_is_forgotten)
{
	char detail[FAULT_DETAIL_SIZE];
	end_with(bytes_of(1, 44, 20));
	incoming_end(&incoming); /* nothing more came */
	ck_assert(incoming_describe(&incoming, detail));
	ck_assert_ptr_nonnull(strstr(detail, "24 of the 304 bytes of a frame came"));
	incoming_forget(&incoming);
	ck_assert(!incoming_describe(&incoming, detail));
}
END_TEST

START_TEST(a_cut_length_is_a_cut_frame)
{
	char detail[FAULT_DETAIL_SIZE];
	end_with(text_of(bytes_of(1, 44, 0).ptr, 3));
	ck_assert(incoming_describe(&incoming, detail));
}
END_TEST

/* The whole ones could not be handled, because memory was short. */
START_TEST(no_bytes_and_whole_frames_are_no_cut_frame)
{
	char detail[FAULT_DETAIL_SIZE];
	end_with(TEXT_NONE);
	ck_assert(!incoming_describe(&incoming, detail));
	end_with(bytes_of(0, 3, 3));
	ck_assert(!incoming_describe(&incoming, detail));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("worker/incoming");
	UNIT_CASE(s, "frames", a_frame_is_found_when_all_of_it_is_there,
		what_is_behind_a_frame_is_not_part_of_it,
		a_length_that_cannot_be_is_refused_before_its_bytes_come);
	UNIT_CASE(s, "end", what_came_of_a_cut_frame_is_known_until_it_is_forgotten,
		a_cut_length_is_a_cut_frame, no_bytes_and_whole_frames_are_no_cut_frame);
	return s;
}

UNIT_MAIN(suite)
