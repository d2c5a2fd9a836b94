/* The pool: confirm, then ack; epochs; unroutable replies; refusals; the search for a culprit. */
#include "unit/support/core/rig.h"
#include <stdio.h>

START_TEST(a_pool_consumes_when_a_worker_is_ready)
{
	struct rig rig;
	struct pool_config config = rig_config(2, 1);
	rig_new(&rig, &config);
	ck_assert_int_eq(pool_deadline(rig.pool), rig.now);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 0.1, spawn 1.1");
	rig_turn(&rig);
	rig_ready(&rig, 1, 1);
	rig_expect(&rig, "");
	rig_turn(&rig);
	rig_expect(&rig, "consume 8");
	rig_source_up(&rig);
	rig_deliver(&rig, 1, 3);
	rig_expect(&rig, "");
	rig_turn(&rig);
	rig_expect(&rig, "send 1:1");
	rig_ready(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:2");
	rig_answer(&rig, 1, 200);
	rig_answer(&rig, 0, 200);
	rig_expect(&rig, "");
	rig_turn(&rig);
	rig_expect(&rig, "send 0:3, ack 2*");
	rig_expect_told(&rig, "WORKER_READY, WORKER_READY, TASK_DONE, TASK_DONE");
	rig_end(&rig);
}
END_TEST

START_TEST(a_reply_is_confirmed_before_the_ack)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 4));
	rig_deliver(&rig, 1, 3);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_answer(&rig, 0, 201);
	rig_answer(&rig, 0, 201);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 reply 1, publish 2 reply 2, ack 3");
	rig_expect_told(&rig, "TASK_DONE");
	rig_confirm(&rig, 2);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2");
	rig_confirm(&rig, 2); /* of nothing any more */
	rig_confirm(&rig, 9);
	rig_outbox_fact(&rig, RETURNED, 2, false);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_outbox_fact(&rig, CONFIRMED, 2, true);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	rig_expect_told(&rig, "TASK_DONE, TASK_DONE");
	rig_end(&rig);
}
END_TEST

START_TEST(unneeded_or_missing_reply_targets_are_warned_of_once)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 4));
	for (uint64_t tag = 1; tag <= 4; tag++) {
		struct delivery *delivery = rig_delivery(tag);
		delivery->reply_to = TEXT_NONE;
		rig_deliver_this(&rig, delivery);
	}
	rig_turn(&rig);
	rig_forget(&rig);
	for (int i = 0; i < 2; i++) {
		rig_answer(&rig, 0, 201);
		rig_answer_this(&rig, 0, 1, rig_output(200, "ignored"));
	}
	rig_turn(&rig);
	rig_expect(&rig, "ack 4*");
	rig_expect_told(
		&rig, "NO_REPLY_TO, TASK_DONE, REPLY_IGNORED, TASK_DONE, TASK_DONE, TASK_DONE");
	rig_end(&rig);
}
END_TEST

START_TEST(progress_leaves_the_task_open)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	rig_answer(&rig, 0, -1);
	rig_answer(&rig, 0, -1);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1");
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	rig_expect_told(&rig, "TASK_PROGRESS, TASK_PROGRESS, TASK_DONE");
	rig_end(&rig);
}
END_TEST

START_TEST(failures_are_retried_and_then_dead_lettered)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 4));
	struct delivery *last_try = rig_delivery(1);
	last_try->attempt = 2;
	rig_deliver_this(&rig, last_try);
	rig_deliver(&rig, 2, 4);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1/3, send 0:2, send 0:3, send 0:4");
	rig_answer(&rig, 0, 500);
	rig_answer(&rig, 0, 599);
	rig_answer(&rig, 0, 404);
	rig_answer_this(&rig, 0, 1, rig_output(201, "own"));
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 dead 1, publish 2 retry 2, publish 3 dead 3, "
			 "publish 4 hand-back 4");
	rig_expect_told(&rig, "TASK_GIVEN_UP, TASK_RETRIED, TASK_GIVEN_UP");
	rig_outbox_fact(&rig, CONFIRMED, 4, true);
	rig_turn(&rig);
	rig_expect(&rig, "ack 4*");
	rig_expect_told(&rig, "TASK_HANDED_BACK");
	rig_end(&rig);
}
END_TEST

START_TEST(the_broker_may_keep_the_dead_letters)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 4);
	config.policy.dead_letter_by_broker = true;
	rig_start(&rig, config);
	rig_deliver(&rig, 1, 3);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_answer(&rig, 0, 200);
	rig_answer(&rig, 0, 400);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "reject 2, ack 3*");
	rig_expect_told(&rig, "TASK_DONE, TASK_GIVEN_UP, TASK_DONE");
	rig_end(&rig);
}
END_TEST

START_TEST(an_invalid_delivery_is_not_sent_to_a_worker)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	struct delivery *invalid = rig_delivery(1);
	invalid->invalid = REASON_BAD_HEADERS;
	rig_deliver_this(&rig, invalid);
	rig_expect(&rig, "publish 1 dead 1");
	rig_deliver(&rig, 2, 2);
	rig.send = SEND_TOO_LARGE;
	rig_turn(&rig);
	rig_expect(&rig, "publish 2 dead 2");
	ck_assert_int_eq(rig.reason, REASON_TOO_LARGE);
	rig_outbox_fact(&rig, CONFIRMED, 2, true);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2*");
	rig_end(&rig);
}
END_TEST

START_TEST(a_send_without_memory_is_retried_soon)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	rig_deliver(&rig, 1, 2);
	rig.send = SEND_NO_MEMORY;
	rig_turn(&rig);
	rig_expect(&rig, "");
	ck_assert_int_eq(pool_deadline(rig.pool), rig.now + 10 * MTIME_MS);
	rig.send = SEND_OK;
	rig_wait(&rig, 10 * MTIME_MS);
	rig_expect(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_full_outbox_stops_dispatch)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	config.outbox_limit = sizeof(struct delivery);
	rig_start(&rig, config);
	rig_deliver(&rig, 1, 2);
	rig_turn(&rig);
	rig_answer(&rig, 0, 201);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1, publish 1 reply 1");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:2, ack 1");
	rig_end(&rig);
}
END_TEST

static void reply_is_returned(
	struct rig *rig, enum unroutable policy, int32_t status, const char *queue)
{
	struct pool_config config = rig_config(1, 1);
	config.policy.unroutable = policy;
	rig_start(rig, config);
	rig_deliver(rig, 1, 1);
	rig_turn(rig);
	rig_answer_this(rig, 0, 1, rig_output(status, queue));
	rig_forget(rig);
	rig_outbox_fact(rig, RETURNED, 1, false);
	rig_turn(rig);
	rig_expect(rig, "");
	rig_confirm(rig, 1);
	rig_turn(rig);
}

START_TEST(unroutable_reject_dead_letters_the_task)
{
	struct rig rig;
	reply_is_returned(&rig, UNROUTABLE_REJECT, 201, NULL);
	rig_expect(&rig, "publish 2 dead 1");
	rig_confirm(&rig, 2);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	rig_expect_told(&rig, "TASK_GIVEN_UP");
	rig_end(&rig);
}
END_TEST

START_TEST(unroutable_drop_acks_it)
{
	struct rig rig;
	reply_is_returned(&rig, UNROUTABLE_DROP, 201, NULL);
	rig_expect(&rig, "ack 1");
	rig_expect_told(&rig, "REPLY_DROPPED, TASK_DONE");
	rig_end(&rig);
}
END_TEST

START_TEST(unroutable_retry_retries_the_task)
{
	struct rig rig;
	reply_is_returned(&rig, UNROUTABLE_RETRY, 201, NULL);
	rig_expect(&rig, "publish 2 retry 1");
	rig_expect_told(&rig, "TASK_RETRIED");
	rig_end(&rig);
}
END_TEST

/* Nothing is published to it: the task is given up at once. */
START_TEST(a_reply_that_is_not_allowed_is_unroutable)
{
	static char replies[] = "replies";
	static char *const allowed[] = {replies, NULL};
	struct pool_config config = rig_config(1, 1);
	struct rig rig;
	config.policy.reply_queues = allowed;
	rig_start(&rig, config);
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_answer_this(&rig, 0, 1, rig_output(201, "victim"));
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 dead 1");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	rig_expect_told(&rig, "TASK_GIVEN_UP");
	rig_end(&rig);
}
END_TEST

/* Its own queue is missing: until it exists again, the delivery stays unacked. */
START_TEST(a_returned_copy_waits_for_its_queue)
{
	static const mtime waits[] = {1, 2, 4, 8, 16, 30, 30};
	struct rig rig;
	reply_is_returned(&rig, UNROUTABLE_DROP, 500, NULL);
	for (uint64_t i = 0; i < 7; i++) {
		ck_assert_int_eq(rig.duration, waits[i] * MTIME_SECOND);
		rig_expect_told(&rig, "PARCEL_REFUSED");
		rig_wait(&rig, waits[i] * MTIME_SECOND - 1);
		rig_expect(&rig, "");
		rig_wait(&rig, 1);
		char wanted[64];
		snprintf(wanted, sizeof wanted, "publish %d retry 1", (int)i + 2);
		rig_expect(&rig, wanted);
		rig_outbox_fact(&rig, i % 2 ? RETURNED : REFUSED, i + 2, false);
		rig_confirm(&rig, i + 2);
	}
	rig_wait(&rig, 30 * MTIME_SECOND);
	rig_confirm(&rig, 9);
	rig_turn(&rig);
	rig_expect(&rig, "publish 9 retry 1, ack 1");
	rig_end(&rig);
}
END_TEST

/* For weeks, once every 30 s: the count of refusals stops at its maximum, the wait stays. */
START_TEST(a_copy_that_is_always_refused_keeps_the_longest_wait)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	rig_start(&rig, config);
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	rig_answer(&rig, 0, 500);
	for (uint64_t seq = 1; seq <= UINT16_MAX + 10u; seq++) {
		rig_outbox_fact(&rig, REFUSED, seq, false);
		ck_assert_int_ge(rig.duration, (seq < 6 ? 1 : 30) * MTIME_SECOND);
		rig.now += 30 * MTIME_SECOND;
		rig_forget(&rig);
		rig_turn(&rig);
		ck_assert_ptr_nonnull(strstr(rig.done, " retry 1"));
	}
	rig_end(&rig);
}
END_TEST

/* It covers all numbers up to now, but none that is assigned because of it. */
START_TEST(a_multiple_confirm_excludes_what_it_publishes)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	rig_answer(&rig, 0, 201);
	rig_outbox_fact(&rig, RETURNED, 1, false);
	rig_outbox_fact(&rig, CONFIRMED, UINT64_MAX, true);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1, publish 1 reply 1, publish 2 dead 1");
	rig_confirm(&rig, 2);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	rig_end(&rig);
}
END_TEST

static void answer_all(struct rig *rig, uint64_t tags, int32_t status)
{
	rig_deliver(rig, 1, tags);
	rig_turn(rig);
	for (uint64_t tag = 1; tag <= tags; tag++)
		rig_answer(rig, 0, status);
	rig_turn(rig);
	rig_forget(rig);
}

START_TEST(unconfirmed_parcels_survive_their_channel)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 8));
	answer_all(&rig, 4, 201);
	rig_confirm(&rig, 2);
	rig_outbox_fact(&rig, REFUSED, 3, false);
	rig_outbox_down(&rig, LOSS_CONNECTION);
	rig_confirm(&rig, 1); /* of an epoch that is over */
	rig_outbox_fact(&rig, CONFIRMED, 9, true);
	rig_outbox_down(&rig, LOSS_CHANNEL);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2");
	rig_outbox_up(&rig);
	rig_expect(&rig, "publish 1 reply 1, publish 2 reply 4");
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "publish 3 reply 3");
	rig_outbox_fact(&rig, CONFIRMED, UINT64_MAX, true);
	rig_turn(&rig);
	rig_expect(&rig, "ack 4*");
	rig_end(&rig);
}
END_TEST

START_TEST(a_second_outbox_up_implies_a_loss)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 8));
	answer_all(&rig, 2, 201);
	rig_outbox_up(&rig);
	rig_expect(&rig, "publish 1 reply 1, publish 2 reply 2");
	rig_step(&rig, (struct event){.kind = OUTBOX_UP, .outbox = {.epoch = 1}});
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

static Suite *pool_suite(void)
{
	Suite *suite = suite_create("core/pool");
	UNIT_CASE(suite, "ack", a_pool_consumes_when_a_worker_is_ready,
		a_reply_is_confirmed_before_the_ack,
		unneeded_or_missing_reply_targets_are_warned_of_once, progress_leaves_the_task_open,
		failures_are_retried_and_then_dead_lettered, the_broker_may_keep_the_dead_letters,
		an_invalid_delivery_is_not_sent_to_a_worker, a_send_without_memory_is_retried_soon,
		a_full_outbox_stops_dispatch);
	UNIT_CASE(suite, "unroutable", unroutable_reject_dead_letters_the_task,
		unroutable_drop_acks_it, unroutable_retry_retries_the_task,
		a_reply_that_is_not_allowed_is_unroutable, a_returned_copy_waits_for_its_queue,
		a_copy_that_is_always_refused_keeps_the_longest_wait,
		a_multiple_confirm_excludes_what_it_publishes);
	UNIT_CASE(suite, "outbox", unconfirmed_parcels_survive_their_channel,
		a_second_outbox_up_implies_a_loss);
	return suite;
}

UNIT_MAIN(pool_suite)
