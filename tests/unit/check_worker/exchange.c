/* exchange_take: which task an output belongs to, and what is wrong with it. */
#include "check_worker/exchange.h"

#include "amqp/table.h"
#include "unit/unit.h"

#include <string.h>

#define FIRST_ID 10

struct sent {
	uint64_t id; /* 0: none */
	int32_t status;
};

/* Outputs to tasks 10, 11 and 12. The last one has the fault; those before it have none. */
static const struct {
	uint16_t concurrency;
	struct sent outputs[5]; /* ended by status 0 */
	enum fault_kind fault;
	const char *came; /* a part of it */
} cases[] = {
	{1, {{0, 200}, {0, 201}, {0, 500}}, FAULT_NONE, ""},
	{1, {{10, 200}, {0, 200}, {12, 200}}, FAULT_NONE, ""},
	{1, {{10, -1}, {0, -1}, {10, 200}, {11, -1}, {11, 200}}, FAULT_NONE, ""},
	{1, {{10, -2}, {10, 200}, {0, -2}, {0, 200}, {12, -2}}, FAULT_NONE, ""},
	{1, {{11, 200}}, FAULT_ORDER, "an answer to task 11 before the answer to task 10"},
	{1, {{0, 200}, {12, -1}}, FAULT_ORDER, "progress of task 12 before"},
	{1, {{0, 200}, {10, 200}}, FAULT_TWICE, "a second answer to task 10"},
	{1, {{10, 200}, {10, -1}}, FAULT_LATE_PROGRESS, "progress of task 10, which is answered"},
	{1, {{13, 200}}, FAULT_ID_UNKNOWN, "an answer to task 13, which no worker has had"},
	{1, {{9, 200}}, FAULT_ID_EARLIER, "an answer to task 9, which an earlier worker had"},
	{1, {{0, 200}, {10, -2}}, FAULT_LATE_PROGRESS,
		"an output that accepts task 10, which is answered"},
	{9, {{12, 200}, {10, -1}, {10, 500}, {11, 201}}, FAULT_NONE, ""},
	{9, {{12, 200}, {0, 200}}, FAULT_ID_MISSING, "status 200 without \"7\""},
	{9, {{0, -1}}, FAULT_ID_MISSING, "status -1 without"},
	{9, {{12, 200}, {12, 500}}, FAULT_TWICE, "a second answer to task 12"},
	{9, {{11, 200}, {11, -1}}, FAULT_LATE_PROGRESS, "progress of task 11"},
	{9, {{UINT64_MAX, 200}}, FAULT_ID_UNKNOWN, "task 18446744073709551615"},
	{9, {{1, -1}}, FAULT_ID_EARLIER, "progress of task 1, which an earlier worker had"},
};

static bool take(struct exchange *exchange, struct sent sent, const char *body, struct fault *fault)
{
	struct output *output = output_new(0);
	ck_assert_ptr_nonnull(output);
	output->task_id = sent.id;
	output->status = sent.status;
	output->body = text_from(body);
	bool is_right = exchange_take(exchange, output, TEXT("\0\0\0\1x"), fault);
	output_free(output);
	return is_right;
}

static bool set_limit(struct exchange *exchange, uint64_t id, int64_t limit_ms, struct fault *fault)
{
	struct output *output = output_new(0);
	ck_assert_ptr_nonnull(output);
	output->task_id = id;
	output->status = STATUS_PROGRESS;
	output->hard_limit_ms = limit_ms;
	bool is_right = exchange_take(exchange, output, TEXT("\0\0\0\1x"), fault);
	output_free(output);
	return is_right;
}

static void send_three(struct exchange *exchange, uint16_t concurrency)
{
	exchange_init(exchange, concurrency, FIRST_ID);
	for (uint64_t id = FIRST_ID; id < FIRST_ID + 3; id++)
		exchange_add(exchange, id, TASK_PLAIN);
}

/* 0: no number of milliseconds, or one out of its range. */
START_TEST(progress_may_set_a_hard_limit)
{
	struct exchange exchange;
	struct fault fault = {.kind = FAULT_NONE};
	send_three(&exchange, 1);
	ck_assert(set_limit(&exchange, 10, 60000, &fault));
	ck_assert(set_limit(&exchange, 0, OUTPUT_HARD_LIMIT_MAX, &fault));
	ck_assert_uint_eq(exchange.progress, 2);
	ck_assert(!set_limit(&exchange, 10, 0, &fault));
	ck_assert_int_eq(fault.kind, FAULT_LIMIT);
	ck_assert_str_eq(fault.came,
		"progress with a HardLimitMilliseconds that is no number from 1 to 31536000000");
	ck_assert(strstr(fault_cause(fault.kind), "milliseconds"));
}
END_TEST

START_TEST(outputs_belong_to_tasks)
{
	const struct sent *sent = cases[_i].outputs;
	struct exchange exchange;
	struct fault fault = {.kind = FAULT_NONE};
	send_three(&exchange, cases[_i].concurrency);
	bool is_right = true;
	for (size_t i = 0; i < sizeof cases->outputs / sizeof *sent && sent[i].status != 0; i++) {
		ck_assert(is_right);
		is_right = take(&exchange, sent[i], "", &fault);
	}
	ck_assert_int_eq(fault.kind, cases[_i].fault);
	ck_assert_int_eq(is_right, cases[_i].fault == FAULT_NONE);
	ck_assert_msg(strstr(fault.came, cases[_i].came) != NULL, "%s", fault.came);
	ck_assert_uint_eq(fault.frame.len, is_right ? 0 : 5);
}
END_TEST

/* The same words are the same answer, whatever its id; the status and the body count. */
START_TEST(an_answer_is_kept)
{
	struct exchange exchange;
	struct fault fault = {.kind = FAULT_NONE};
	const struct sent_task *tasks = exchange.tasks;
	send_three(&exchange, 3);
	ck_assert(take(&exchange, (struct sent){12, 201}, "a", &fault));
	ck_assert_uint_eq(exchange_open(&exchange), 2);
	ck_assert_uint_eq(exchange.oldest, 0);
	ck_assert(take(&exchange, (struct sent){10, 201}, "a", &fault));
	ck_assert_uint_eq(exchange.oldest, 1);
	ck_assert(take(&exchange, (struct sent){11, 201}, "b", &fault));
	ck_assert_uint_eq(exchange.oldest, 3);
	ck_assert_uint_eq(exchange_open(&exchange), 0);
	ck_assert_uint_eq(tasks[0].digest, tasks[2].digest);
	ck_assert_uint_ne(tasks[0].digest, tasks[1].digest);
	ck_assert_int_eq(tasks[1].status, 201);
	ck_assert_uint_eq(exchange.named, 3);
}
END_TEST

START_TEST(what_accepts_a_task_is_no_progress)
{
	struct exchange exchange;
	struct fault fault = {.kind = FAULT_NONE};
	send_three(&exchange, 1);
	ck_assert(take(&exchange, (struct sent){10, STATUS_ACCEPTED}, "", &fault));
	ck_assert(take(&exchange, (struct sent){0, STATUS_ACCEPTED}, "", &fault));
	ck_assert(take(&exchange, (struct sent){10, STATUS_PROGRESS}, "", &fault));
	ck_assert_uint_eq(exchange.accepted, 2);
	ck_assert_uint_eq(exchange.progress, 1);
	ck_assert_uint_eq(exchange_open(&exchange), 3);
}
END_TEST

/* Without an id and without a task: counted, since the time when it comes is left to chance. */
START_TEST(a_surplus_is_counted)
{
	struct exchange exchange;
	struct fault fault = {.kind = FAULT_NONE};
	exchange_init(&exchange, 1, FIRST_ID);
	ck_assert(take(&exchange, (struct sent){0, 200}, "", &fault));
	ck_assert(take(&exchange, (struct sent){0, -1}, "", &fault));
	ck_assert_uint_eq(exchange.surplus, 1);
	ck_assert_uint_eq(exchange.progress, 1);
	ck_assert_uint_eq(exchange.surplus_frame.len, 5);
}
END_TEST

/* A time that cannot be read makes a failure of what was meant to come back. */
START_TEST(a_bad_time_to_postpone_is_named)
{
	static const struct {
		int32_t status;
		int64_t postpone_ms;
		bool has_header;
		enum fault_kind fault;
	} rows[] = {{503, -1, true, FAULT_BAD_OUTPUT}, {503, -1, false, FAULT_NONE},
		{503, 100, true, FAULT_NONE}, {500, -1, true, FAULT_NONE}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct exchange exchange;
		struct fault fault = {.kind = FAULT_NONE};
		struct buf headers;
		struct output *output = output_new(0);
		ck_assert_ptr_nonnull(output);
		buf_init(&headers, SIZE_MAX);
		table_put_string(&headers, TEXT("PostponeMilliseconds"), TEXT("soon"));
		output->status = rows[i].status;
		output->postpone_ms = rows[i].postpone_ms;
		output->headers = rows[i].has_header ? buf_text(&headers) : TEXT_NONE;
		send_three(&exchange, 1);
		exchange_take(&exchange, output, TEXT("\0\0\0\1x"), &fault);
		ck_assert_int_eq(fault.kind, rows[i].fault);
		output_free(output);
		buf_release(&headers);
	}
}
END_TEST

static Suite *exchange_suite(void)
{
	Suite *suite = suite_create("check_worker/exchange");
	TCase *tcase = tcase_create("exchange");
	tcase_add_loop_test(tcase, outputs_belong_to_tasks, 0, (int)(sizeof cases / sizeof *cases));
	tcase_add_test(tcase, progress_may_set_a_hard_limit);
	tcase_add_test(tcase, an_answer_is_kept);
	tcase_add_test(tcase, what_accepts_a_task_is_no_progress);
	tcase_add_test(tcase, a_surplus_is_counted);
	tcase_add_test(tcase, a_bad_time_to_postpone_is_named);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(exchange_suite)
