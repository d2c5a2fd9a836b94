/* Settle: every row of the contract, as tables. */
#include "core/tasks/settle.h"
#include "unit/unit.h"

static const struct settle_policy base_policy = {
	.attempts = 3, .slices = 2, .retried = SETTLE_RETRIED_ALL, .queue = TEXT("own")};
static char *const allowed[] = {(char[]){"replies.*"}, (char[]){"calls"}, NULL};

struct row {
	enum outcome outcome;
	uint16_t attempt;
	uint32_t slice;
	const char *reply_to, *reply_queue;
	bool is_accepted, invalid_output, by_broker, is_limited; /* to `allowed` */
	enum unroutable unroutable;
	enum reason reason;
	enum task_kill kill;
	struct decision wanted;
};

#define ACK                .wanted = {.verdict = VERDICT_ACK}
#define PUBLISH(kind, why) .wanted = {.verdict = VERDICT_PUBLISH, .parcel = kind, .reason = why}
#define NOT_ALLOWED(kind)                                                                          \
	.wanted = {.verdict = VERDICT_PUBLISH,                                                     \
		.parcel = PARCEL_##kind,                                                           \
		.reason = REASON_UNROUTABLE,                                                       \
		.what = "reply_queues does not allow it"}
#define NO_NAME(kind)                                                                              \
	.wanted = {.verdict = VERDICT_PUBLISH,                                                     \
		.parcel = PARCEL_##kind,                                                           \
		.reason = REASON_UNROUTABLE,                                                       \
		.what = "no queue can have that name"}
#define DEAD(why) PUBLISH(PARCEL_DEAD_LETTER, why)
#define REJECT(why)                                                                                \
	.wanted = {.verdict = VERDICT_REJECT, .parcel = PARCEL_DEAD_LETTER, .reason = why}
#define DROP(why) .wanted = {.verdict = VERDICT_ACK, .parcel = PARCEL_REPLY, .reason = why}

static const struct row rows[] = {
	{OUTCOME_DONE, ACK},
	{OUTCOME_DONE, .attempt = 9, ACK},
	{OUTCOME_UNSTARTED, .wanted = {.verdict = VERDICT_REQUEUE}},
	{OUTCOME_UNSTARTED, .attempt = 9, .wanted = {.verdict = VERDICT_REQUEUE}},
	/* replies */
	{OUTCOME_REPLY, .wanted = {.verdict = VERDICT_ACK, .no_reply_to = true}},
	{OUTCOME_REPLY, .invalid_output = true,
		.wanted = {.verdict = VERDICT_ACK, .no_reply_to = true}},
	{OUTCOME_REPLY, .reply_to = "caller", PUBLISH(PARCEL_REPLY, REASON_NONE)},
	{OUTCOME_REPLY, .reply_queue = "other", PUBLISH(PARCEL_REPLY, REASON_NONE)},
	/* the task's reply_to is no hand-back, even where it names the pool's queue */
	{OUTCOME_REPLY, .reply_to = "own", PUBLISH(PARCEL_REPLY, REASON_NONE)},
	{OUTCOME_REPLY, .reply_to = "caller", .invalid_output = true, DEAD(REASON_REPLY_INVALID)},
	{OUTCOME_REPLY, .reply_to = "caller", .invalid_output = true, .unroutable = UNROUTABLE_DROP,
		DROP(REASON_REPLY_INVALID)},
	{OUTCOME_REPLY, .reply_to = "caller", .invalid_output = true,
		.unroutable = UNROUTABLE_RETRY, PUBLISH(PARCEL_RETRY, REASON_REPLY_INVALID)},
	/* reply_queues */
	{OUTCOME_REPLY, .is_limited = true, .reply_to = "calls",
		PUBLISH(PARCEL_REPLY, REASON_NONE)},
	{OUTCOME_REPLY, .is_limited = true, .reply_queue = "replies.a",
		PUBLISH(PARCEL_REPLY, REASON_NONE)},
	{OUTCOME_REPLY, .is_limited = true, .reply_to = "own", PUBLISH(PARCEL_REPLY, REASON_NONE)},
	{OUTCOME_REPLY, .is_limited = true, .reply_queue = "own",
		PUBLISH(PARCEL_HAND_BACK, REASON_NONE)},
	{OUTCOME_REPLY, .is_limited = true, .reply_to = "amq.rabbitmq.reply-to.g2dkAA==.x",
		PUBLISH(PARCEL_REPLY, REASON_NONE)},
	{OUTCOME_REPLY, .is_limited = true, .reply_to = "victim", NOT_ALLOWED(DEAD_LETTER)},
	{OUTCOME_REPLY, .is_limited = true, .reply_to = "calls", .reply_queue = "victim",
		NOT_ALLOWED(DEAD_LETTER)},
	{OUTCOME_REPLY, .is_limited = true, .reply_to = "calls2", NOT_ALLOWED(DEAD_LETTER)},
	{OUTCOME_REPLY, .is_limited = true, .reply_to = "amq.rabbitmq.reply",
		NOT_ALLOWED(DEAD_LETTER)},
	{OUTCOME_REPLY, .is_limited = true, .reply_to = "victim", .unroutable = UNROUTABLE_RETRY,
		NOT_ALLOWED(RETRY)},
	{OUTCOME_REPLY, .is_limited = true, .reply_to = "victim", .unroutable = UNROUTABLE_DROP,
		.wanted = {.verdict = VERDICT_ACK,
			.parcel = PARCEL_REPLY,
			.reason = REASON_UNROUTABLE,
			.what = "reply_queues does not allow it"}},
	{OUTCOME_REPLY, .is_limited = true,
		.wanted = {.verdict = VERDICT_ACK, .no_reply_to = true}},
	/* AMQP 0-9-1, 4.2.5.3: a short string is UTF-8 and has no NUL */
	{OUTCOME_REPLY, .reply_to = "calls\xff", NO_NAME(DEAD_LETTER)},
	{OUTCOME_REPLY, .reply_queue = "calls\xff", NO_NAME(DEAD_LETTER)},
	{OUTCOME_REPLY, .is_limited = true, .reply_to = "replies.\xff", NO_NAME(DEAD_LETTER)},
	{OUTCOME_REPLY, .reply_to = "calls\xff", .unroutable = UNROUTABLE_RETRY, NO_NAME(RETRY)},
	{OUTCOME_REPLY, .reply_to = "r\xc3\xa9ponses", PUBLISH(PARCEL_REPLY, REASON_NONE)},
	/* hand-backs */
	{OUTCOME_REPLY, .reply_queue = "own", PUBLISH(PARCEL_HAND_BACK, REASON_NONE)},
	{OUTCOME_REPLY, .reply_queue = "own", .slice = 1, PUBLISH(PARCEL_HAND_BACK, REASON_NONE)},
	{OUTCOME_REPLY, .reply_queue = "own", .slice = 2, DEAD(REASON_SLICES)},
	{OUTCOME_REPLY, .reply_queue = "own", .slice = UINT32_MAX, DEAD(REASON_SLICES)},
	{OUTCOME_REPLY, .reply_queue = "own", .invalid_output = true, DEAD(REASON_REPLY_INVALID)},
	{OUTCOME_REPLY, .reply_queue = "own", .invalid_output = true,
		.unroutable = UNROUTABLE_RETRY, PUBLISH(PARCEL_RETRY, REASON_REPLY_INVALID)},
	/* dropping a reply is a policy, dropping the rest of a task is a loss */
	{OUTCOME_REPLY, .reply_queue = "own", .invalid_output = true, .unroutable = UNROUTABLE_DROP,
		DEAD(REASON_REPLY_INVALID)},
	/* failures: attempts count from 0, three tries in all */
	{OUTCOME_REJECTED, DEAD(REASON_REJECTED)},
	{OUTCOME_FAILED, PUBLISH(PARCEL_RETRY, REASON_FAILED)},
	{OUTCOME_FAILED, .attempt = 1, PUBLISH(PARCEL_RETRY, REASON_FAILED)},
	{OUTCOME_FAILED, .attempt = 2, DEAD(REASON_FAILED)},
	{OUTCOME_FAILED, .attempt = UINT16_MAX, DEAD(REASON_FAILED)},
	{OUTCOME_CRASHED, PUBLISH(PARCEL_RETRY, REASON_CRASHED)},
	{OUTCOME_CRASHED, .attempt = 2, DEAD(REASON_CRASHED)},
	{OUTCOME_TIMED_OUT, PUBLISH(PARCEL_RETRY, REASON_TIMED_OUT)},
	{OUTCOME_TIMED_OUT, .attempt = 2, DEAD(REASON_TIMED_OUT)},
	{OUTCOME_BROKEN, PUBLISH(PARCEL_RETRY, REASON_PROTOCOL)},
	{OUTCOME_BROKEN, .attempt = 2, DEAD(REASON_PROTOCOL)},
	{OUTCOME_INVALID, DEAD(REASON_BAD_HEADERS)},
	/* an operator's order, whatever attempts are left */
	{OUTCOME_KILLED, .kill = KILL_AND_RETRY, PUBLISH(PARCEL_RETRY, REASON_KILLED)},
	{OUTCOME_KILLED, .kill = KILL_AND_RETRY, .attempt = 2,
		PUBLISH(PARCEL_RETRY, REASON_KILLED)},
	{OUTCOME_KILLED, .kill = KILL_AND_GIVE_UP, DEAD(REASON_KILLED)},
	{OUTCOME_KILLED, .kill = KILL_AND_GIVE_UP, .by_broker = true, REJECT(REASON_KILLED)},
	/* the reply came back */
	{OUTCOME_UNROUTABLE, .reason = REASON_UNROUTABLE, DEAD(REASON_UNROUTABLE)},
	{OUTCOME_UNROUTABLE, .reason = REASON_REPLY_REFUSED, .unroutable = UNROUTABLE_DROP,
		DROP(REASON_REPLY_REFUSED)},
	{OUTCOME_UNROUTABLE, .reason = REASON_UNROUTABLE, .unroutable = UNROUTABLE_RETRY,
		PUBLISH(PARCEL_RETRY, REASON_UNROUTABLE)},
	{OUTCOME_UNROUTABLE, .reason = REASON_UNROUTABLE, .unroutable = UNROUTABLE_RETRY,
		.attempt = 2, DEAD(REASON_UNROUTABLE)},
	/* the rest of a task was refused: again, none is lost by a policy for replies */
	{OUTCOME_UNROUTABLE, .reason = REASON_REPLY_REFUSED, .reply_queue = "own",
		DEAD(REASON_REPLY_REFUSED)},
	{OUTCOME_UNROUTABLE, .reason = REASON_REPLY_REFUSED, .reply_queue = "own",
		.unroutable = UNROUTABLE_DROP, DEAD(REASON_REPLY_REFUSED)},
	{OUTCOME_UNROUTABLE, .reason = REASON_REPLY_REFUSED, .reply_queue = "own",
		.unroutable = UNROUTABLE_RETRY, PUBLISH(PARCEL_RETRY, REASON_REPLY_REFUSED)},
	/* nothing brings an accepted task again */
	{OUTCOME_DONE, .is_accepted = true, ACK},
	{OUTCOME_REPLY, .is_accepted = true, .reply_to = "caller",
		PUBLISH(PARCEL_REPLY, REASON_NONE)},
	{OUTCOME_REPLY, .is_accepted = true, .reply_queue = "own",
		PUBLISH(PARCEL_HAND_BACK, REASON_NONE)},
	{OUTCOME_REJECTED, .is_accepted = true, DEAD(REASON_REJECTED)},
	{OUTCOME_FAILED, .is_accepted = true, DEAD(REASON_FAILED)},
	{OUTCOME_CRASHED, .is_accepted = true, DEAD(REASON_CRASHED)},
	{OUTCOME_TIMED_OUT, .is_accepted = true, DEAD(REASON_TIMED_OUT)},
	{OUTCOME_BROKEN, .is_accepted = true, DEAD(REASON_PROTOCOL)},
	{OUTCOME_KILLED, .is_accepted = true, .kill = KILL_AND_RETRY, DEAD(REASON_KILLED)},
	{OUTCOME_UNSTARTED, .is_accepted = true, DEAD(REASON_CRASHED)},
	{OUTCOME_UNROUTABLE, .is_accepted = true, .reason = REASON_UNROUTABLE,
		.unroutable = UNROUTABLE_RETRY, DEAD(REASON_UNROUTABLE)},
	{OUTCOME_UNROUTABLE, .is_accepted = true, .reason = REASON_UNROUTABLE,
		.unroutable = UNROUTABLE_DROP, DROP(REASON_UNROUTABLE)},
	{OUTCOME_FAILED, .is_accepted = true, .by_broker = true, REJECT(REASON_FAILED)},
	/* dead_letter: broker */
	{OUTCOME_REJECTED, .by_broker = true, REJECT(REASON_REJECTED)},
	{OUTCOME_FAILED, .by_broker = true, PUBLISH(PARCEL_RETRY, REASON_FAILED)},
	{OUTCOME_FAILED, .by_broker = true, .attempt = 2, REJECT(REASON_FAILED)},
	{OUTCOME_INVALID, .by_broker = true, REJECT(REASON_BAD_HEADERS)},
	{OUTCOME_UNROUTABLE, .by_broker = true, .reason = REASON_UNROUTABLE,
		REJECT(REASON_UNROUTABLE)},
};

START_TEST(settle_follows_the_contract)
{
	const struct row *row = &rows[_i];
	struct settle_policy policy = base_policy;
	policy.dead_letter_by_broker = row->by_broker;
	policy.unroutable = row->unroutable;
	policy.reply_queues = row->is_limited ? allowed : NULL;
	struct delivery *delivery = delivery_new(0);
	delivery->attempt = row->attempt;
	delivery->slice = row->slice;
	delivery->kill = (uint8_t)row->kill;
	delivery->is_accepted = row->is_accepted;
	delivery->reply_to = text_from(row->reply_to);
	delivery->invalid = row->outcome == OUTCOME_INVALID ? REASON_BAD_HEADERS : REASON_NONE;
	struct output *output = output_new(0);
	output->reply_queue = text_from(row->reply_queue);
	output->invalid = row->invalid_output ? REASON_REPLY_INVALID : REASON_NONE;

	bool has_reply = row->outcome == OUTCOME_REPLY || row->outcome == OUTCOME_UNROUTABLE;
	struct decision got = settle_decide(
		&policy, row->outcome, delivery, has_reply ? output : NULL, row->reason);
	ck_assert_int_eq(got.verdict, row->wanted.verdict);
	ck_assert_int_eq(got.parcel, row->wanted.parcel);
	ck_assert_int_eq(got.reason, row->wanted.reason);
	ck_assert_int_eq(got.no_reply_to, row->wanted.no_reply_to);
	ck_assert_pstr_eq(got.what, row->wanted.what);
	output_free(output);
	delivery_free(delivery);
}
END_TEST

START_TEST(a_reply_queue_with_a_nul_is_unroutable)
{
	static const struct text target = TEXT("victim\0.replies");
	struct settle_policy policy = base_policy;
	policy.reply_queues = (char *const[]){(char[]){"*.replies"}, NULL};
	for (int by_worker = 0; by_worker < 2; by_worker++) {
		struct delivery *delivery = delivery_new(0);
		struct output *output = output_new(0);
		*(by_worker ? &output->reply_queue : &delivery->reply_to) = target;
		struct decision got =
			settle_decide(&policy, OUTCOME_REPLY, delivery, output, REASON_NONE);
		ck_assert_int_eq(got.parcel, PARCEL_DEAD_LETTER);
		ck_assert_int_eq(got.reason, REASON_UNROUTABLE);
		ck_assert_pstr_eq(got.what, "no queue can have that name");
		output_free(output);
		delivery_free(delivery);
	}
}
END_TEST

START_TEST(one_attempt_means_no_retry)
{
	struct settle_policy policy = base_policy;
	policy.attempts = 1;
	struct delivery *delivery = delivery_new(0);
	struct decision got = settle_decide(&policy, OUTCOME_FAILED, delivery, NULL, REASON_NONE);
	ck_assert_int_eq(got.parcel, PARCEL_DEAD_LETTER);
	delivery_free(delivery);
}
END_TEST

#define WAIT (1500 * MTIME_MS + 1)

static const struct throttled_row {
	enum throttle_excess excess;
	const char *reply_to;
	bool has_session, blocks, by_broker, waits;
	struct decision wanted;
} throttled_rows[] = {
	{THROTTLE_DELAY, "calls", .waits = true},
	{THROTTLE_REPLY, "", .waits = true},
	{THROTTLE_REPLY, "others", .waits = true}, /* is not allowed */
	{THROTTLE_REPLY, "calls",
		.wanted = {.verdict = VERDICT_PUBLISH, .parcel = PARCEL_REFUSAL, .delay = WAIT}},
	{THROTTLE_REPLY, "calls", .has_session = true, .blocks = true,
		.wanted = {.verdict = VERDICT_PUBLISH, .parcel = PARCEL_REFUSAL, .delay = WAIT}},
	{THROTTLE_DEAD_LETTER, "calls", DEAD(REASON_THROTTLED)},
	{THROTTLE_DEAD_LETTER, "calls", .by_broker = true, REJECT(REASON_THROTTLED)},
	{THROTTLE_DEAD_LETTER, "calls", .blocks = true, DEAD(REASON_THROTTLED)},
	{THROTTLE_DEAD_LETTER, "calls", .has_session = true, DEAD(REASON_THROTTLED)},
	{THROTTLE_DEAD_LETTER, "calls", .has_session = true, .blocks = true,
		.wanted = {.verdict = VERDICT_BLOCK, .reason = REASON_THROTTLED}},
};

START_TEST(a_throttled_task_waits_or_is_answered_or_given_up)
{
	for (size_t i = 0; i < sizeof throttled_rows / sizeof *throttled_rows; i++) {
		const struct throttled_row *row = &throttled_rows[i];
		struct settle_policy policy = base_policy;
		struct session *any = (struct session *)&policy; /* only its presence counts */
		struct decision decision = {0};
		policy.reply_queues = allowed;
		policy.dead_letter_by_broker = row->by_broker;
		policy.blocks_session = row->blocks;
		const struct delivery delivery = {.reply_to = text_from(row->reply_to),
			.session = row->has_session ? any : NULL};
		bool is_settled =
			settle_throttled(&policy, &delivery, row->excess, WAIT, &decision);
		ck_assert_int_ne(is_settled, row->waits);
		ck_assert_int_eq(decision.verdict, row->wanted.verdict);
		ck_assert_int_eq(decision.parcel, row->wanted.parcel);
		ck_assert_int_eq(decision.reason, row->wanted.reason);
		ck_assert_int_eq(decision.delay, row->wanted.delay);
	}
}
END_TEST

START_TEST(what_may_have_killed_a_supervisor_is_not_postponed)
{
	static const struct {
		uint32_t returns;
		bool redelivered;
		uint16_t renewed;
		bool may;
	} cases[] = {{0, false, 0, true}, {1, false, 0, false}, {0, true, 0, true},
		{0, false, 1, true}, {0, true, 1, false}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct delivery delivery = {.returns = cases[i].returns,
			.redelivered = cases[i].redelivered,
			.renewed = cases[i].renewed};
		ck_assert_int_eq(settle_may_postpone(&delivery), cases[i].may);
	}
}
END_TEST

START_TEST(a_task_is_postponed_to_a_step_of_the_ladder)
{
	const struct {
		mtime wait, delay;
	} cases[] = {{1, MTIME_SECOND}, {MTIME_SECOND, MTIME_SECOND},
		{MTIME_SECOND + 1, 2 * MTIME_SECOND}, {MTIME_MINUTE, MTIME_MINUTE},
		{365 * 24 * 60 * MTIME_MINUTE, 60 * MTIME_MINUTE}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct decision decision = settle_postpone(cases[i].wait);
		ck_assert_int_eq(decision.verdict, VERDICT_PUBLISH);
		ck_assert_int_eq(decision.parcel, PARCEL_POSTPONE);
		ck_assert_int_eq(decision.reason, REASON_NONE);
		ck_assert_int_eq(decision.delay, cases[i].delay);
	}
}
END_TEST

START_TEST(a_status_means_one_outcome_or_none)
{
	static const struct {
		int32_t status;
		bool known;
		enum outcome outcome;
	} statuses[] = {
		{200, true, OUTCOME_DONE},
		{201, true, OUTCOME_REPLY},
		{205, true, OUTCOME_DONE},
		{400, true, OUTCOME_REJECTED},
		{499, true, OUTCOME_REJECTED},
		{500, true, OUTCOME_FAILED},
		{599, true, OUTCOME_FAILED},
		{-1, false, 0},
		{0, false, 0},
		{199, false, 0},
		{202, false, 0},
		{399, false, 0},
		{600, false, 0},
		{INT32_MIN, false, 0},
		{INT32_MAX, false, 0},
	};
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
		enum outcome outcome = OUTCOME_UNSTARTED;
		ck_assert_int_eq(settle_outcome(statuses[i].status, &outcome), statuses[i].known);
		ck_assert_int_eq(
			outcome, statuses[i].known ? statuses[i].outcome : OUTCOME_UNSTARTED);
	}
}
END_TEST

START_TEST(the_output_names_the_target_before_the_task)
{
	struct delivery *delivery = delivery_new(0);
	struct output *output = output_new(0);
	ck_assert_uint_eq(settle_reply_target(delivery, output).len, 0);
	delivery->reply_to = TEXT("caller");
	ck_assert(text_is(settle_reply_target(delivery, output), TEXT("caller")));
	output->reply_queue = TEXT("other");
	ck_assert(text_is(settle_reply_target(delivery, output), TEXT("other")));
	output_free(output);
	delivery_free(delivery);
}
END_TEST

/* AddressSanitizer would end the program where malloc fails. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

START_TEST(sizes_beyond_memory_are_refused)
{
	static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 4};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		ck_assert_ptr_null(delivery_new(sizes[i]));
		ck_assert_ptr_null(output_new(sizes[i]));
	}
}
END_TEST

START_TEST(a_delivery_owns_its_output)
{
	struct delivery *delivery = delivery_new(100);
	ck_assert_uint_eq(delivery_size(delivery), sizeof *delivery + 100);
	delivery->parcel.output = output_new(50);
	ck_assert_uint_eq(output_size(delivery->parcel.output), sizeof(struct output) + 50);
	ck_assert_int_eq(delivery->parcel.output->retry_after_ms, -1);
	ck_assert_int_eq(delivery->soft_ms, -1);
	delivery_free(delivery);
	delivery_free(NULL);
	output_free(NULL);
}
END_TEST

START_TEST(every_reason_has_a_text)
{
	ck_assert_str_eq(reason_name(REASON_NONE), "");
	ck_assert_str_eq(reason_name(REASON_PROTOCOL), "protocol-error");
	ck_assert_str_eq(reason_name(REASON_BAD_HEADERS), "bad-headers");
}
END_TEST

static Suite *settle_suite(void)
{
	Suite *suite = suite_create("core/settle");
	TCase *table = tcase_create("table");
	tcase_add_loop_test(
		table, settle_follows_the_contract, 0, (int)(sizeof rows / sizeof *rows));
	suite_add_tcase(suite, table);
	UNIT_CASE(suite, "decide", one_attempt_means_no_retry, a_status_means_one_outcome_or_none,
		the_output_names_the_target_before_the_task, a_reply_queue_with_a_nul_is_unroutable,
		a_throttled_task_waits_or_is_answered_or_given_up,
		a_task_is_postponed_to_a_step_of_the_ladder,
		what_may_have_killed_a_supervisor_is_not_postponed);
	UNIT_CASE(suite, "plain", sizes_beyond_memory_are_refused, a_delivery_owns_its_output,
		every_reason_has_a_text);
	return suite;
}

UNIT_MAIN(settle_suite)
