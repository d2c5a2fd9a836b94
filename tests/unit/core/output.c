/* The output of a worker, and its last stderr line, which is added to it. */
#include "core/tasks/output.h"
#include "unit/support/core/memory.h"
#include "unit/unit.h"

#include <string.h>

#define SAID "bodyqueue"

/* An answer with a body and a queue for it, and nothing else. */
static struct output *answer(void)
{
	struct output *output = output_new(strlen(SAID));
	ck_assert_ptr_nonnull(output);
	output->status = STATUS_FAILED;
	memcpy(output->bytes, SAID, strlen(SAID));
	output->body = text_of(output->bytes, 4);
	output->reply_queue = text_of(output->bytes + 4, 5);
	return output;
}

static void expect_answer(const struct output *output)
{
	ck_assert_int_eq(output->status, STATUS_FAILED);
	ck_assert(text_is(output->body, TEXT("body")));
	ck_assert(text_is(output->reply_queue, TEXT("queue")));
	ck_assert_uint_eq(output->headers.len, 0);
	ck_assert_uint_eq(output->content_type.len, 0);
}

START_TEST(last_words_are_added_to_a_copy_of_the_output)
{
	struct output *output = output_add_stderr_line(answer(), TEXT("out of cheese"));
	expect_answer(output);
	ck_assert(text_is(output->stderr_line, TEXT("out of cheese")));
	ck_assert_uint_eq(output_size(output), sizeof *output + strlen(SAID "out of cheese"));
	output_free(output);
}
END_TEST

START_TEST(without_memory_the_output_stays_as_it_is)
{
	struct output *output = answer();
	ck_assert_ptr_eq(
		output_add_stderr_line(output, text_of(SAID, SIZE_MAX - strlen(SAID))), output);
	expect_answer(output);
	ck_assert_uint_eq(output->stderr_line.len, 0);
	output_free(output);
}
END_TEST

/* To an answer with a line, to one without, and to none. */
START_TEST(a_detail_is_added)
{
	struct output *output = output_add_stderr_line(answer(), TEXT("out of cheese"));
	output = output_add_detail(output, TEXT("999"));
	expect_answer(output);
	ck_assert(text_is(output->stderr_line, TEXT("out of cheese")));
	ck_assert(text_is(output->detail, TEXT("999")));
	output_free(output);
	output = output_add_detail(NULL, TEXT("999"));
	ck_assert(text_is(output->detail, TEXT("999")));
	ck_assert_int_eq(output->status, 0);
	output_free(output);
	ck_assert_ptr_null(output_add_detail(NULL, TEXT_NONE));
}
END_TEST

START_TEST(without_memory_there_is_no_detail_and_no_copy)
{
	struct output *output = answer();
	mallocs_left = 0;
	struct output *same = output_add_detail(output, TEXT("999"));
	struct output *none = output_add_detail(NULL, TEXT("999"));
	struct output *copy = output_copy_of(TEXT("body"), TEXT_NONE, TEXT_NONE);
	mallocs_left = LONG_MAX;
	ck_assert_ptr_eq(same, output);
	expect_answer(output);
	ck_assert_uint_eq(output->detail.len, 0);
	ck_assert_ptr_null(none);
	ck_assert_ptr_null(copy);
	output_free(output);
}
END_TEST

START_TEST(of_a_failure_its_status_and_words_are_kept)
{
	struct output *output = answer();
	output->status = 503;
	output = output_add_detail(output_add_stderr_line(output, TEXT("oops")), TEXT("detail"));
	output = output_of_failure(output);
	ck_assert_int_eq(output->status, 503);
	ck_assert(text_is(output->stderr_line, TEXT("oops")));
	ck_assert(text_is(output->detail, TEXT("detail")));
	ck_assert_uint_eq(output->body.len, 0);
	mallocs_left = 0;
	output = output_of_failure(output);
	mallocs_left = LONG_MAX;
	ck_assert_ptr_null(output);
	ck_assert_ptr_null(output_of_failure(NULL));
}
END_TEST

static Suite *output_suite(void)
{
	Suite *suite = suite_create("core/output");
	UNIT_CASE(suite, "words", last_words_are_added_to_a_copy_of_the_output,
		without_memory_the_output_stays_as_it_is, a_detail_is_added,
		without_memory_there_is_no_detail_and_no_copy,
		of_a_failure_its_status_and_words_are_kept);
	return suite;
}

UNIT_MAIN(output_suite)
