/* Lost channels: what becomes of deliveries and parcels, and which parcel closed the channel. */
#include "unit/support/core/rig.h"

static void answer(struct rig *rig, int32_t status, int times)
{
	while (times-- > 0)
		rig_answer(rig, 0, status);
	rig_turn(rig);
	rig_forget(rig);
}

START_TEST(a_lost_channel_voids_its_tags)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 2), 4); /* 1, 2 in the pipe; 3, 4 wait */
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	rig_source_up(&rig);
	rig_deliver(&rig, 1, 1);
	rig_answer(&rig, 0, 200);
	rig_answer(&rig, 0, 500);
	rig_turn(&rig);
	/* Tag 1 of the new channel is another message: only its own answer acks it. */
	rig_expect(&rig, "send 0:1");
	rig_expect_told(&rig, "TASK_ORPHANED, TASK_ORPHANED");
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_task_released_in_the_turn_of_the_loss_is_not_acked)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 2), 2);
	rig_answer(&rig, 0, 200);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_source_up(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

START_TEST(events_of_an_old_channel_are_dropped)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 2), 1);
	rig_source_up(&rig); /* without a down: the one before is lost all the same */
	rig.source_epoch--;
	rig_deliver(&rig, 2, 2);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_step(&rig, (struct event){.kind = SOURCE_UP, .source = {.epoch = 1}});
	rig.source_epoch++;
	rig_deliver(&rig, 1, 1);
	rig_deliver(&rig, 1, 1); /* a tag twice: not ours to settle twice */
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1");
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_deliver(&rig, 2, 2);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

START_TEST(a_parcel_of_an_orphan_is_not_published)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 4), 3);
	rig_outbox_down(&rig, LOSS_CONNECTION);
	answer(&rig, 201, 3);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_outbox_up(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

START_TEST(a_published_parcel_may_outlive_its_channel)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 4), 4);
	answer(&rig, 201, 4);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_confirm(&rig, 2);
	rig_outbox_fact(&rig, RETURNED, 3, false);
	rig_confirm(&rig, 3);
	rig_outbox_fact(&rig, REFUSED, 1, false);
	rig_outbox_down(&rig, LOSS_CHANNEL); /* 4, an orphan, was alone */
	rig_outbox_up(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_expect_told(&rig, "");
	rig_end(&rig);
}
END_TEST

START_TEST(orphans_are_freed_with_the_pool)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 4), 6);
	answer(&rig, 201, 2);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_source_up(&rig);
	rig_deliver(&rig, 1, 4);
	rig_turn(&rig);
	answer(&rig, 200, 3);
	rig_answer(&rig, 0, 201);
	rig_end(&rig);
}
END_TEST

START_TEST(orphans_behind_a_crash_are_not_requeued)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 4), 2);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_source_up(&rig);
	rig_deliver(&rig, 1, 2);
	rig_turn(&rig);
	rig_gone(&rig, 0, 1);
	rig_expect_told(&rig, "WORKER_DIED, TASK_ORPHANED");
	rig_wait(&rig, MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "consume 6, send 0:1, send 0:2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_parcel_alone_on_a_closed_channel_is_blamed)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 4), 2);
	answer(&rig, 201, 1);
	rig_outbox_down(&rig, LOSS_CHANNEL);
	rig_expect_told(&rig, "TASK_GIVEN_UP");
	ck_assert_int_eq(rig.reason, REASON_REPLY_REFUSED);
	rig_outbox_up(&rig);
	rig_expect(&rig, "publish 1 dead 1");
	rig_end(&rig);
}
END_TEST

START_TEST(probes_are_published_one_at_a_time)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 8), 5);
	answer(&rig, 201, 3);
	rig_outbox_down(&rig, LOSS_CHANNEL);
	rig_outbox_up(&rig);
	rig_expect(&rig, "publish 1 reply 1");
	rig_answer(&rig, 0, 201); /* a new one waits behind the probes */
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "publish 2 reply 2, ack 1");
	rig_outbox_down(&rig, LOSS_CHANNEL); /* so 2 was it */
	rig_outbox_up(&rig);
	rig_expect(&rig, "publish 1 reply 3");
	rig_outbox_down(&rig, LOSS_CONNECTION); /* nobody's fault: still a probe */
	rig_outbox_up(&rig);
	rig_expect(&rig, "publish 1 reply 3");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "publish 2 reply 4, publish 3 dead 2, ack 3");
	rig_outbox_fact(&rig, CONFIRMED, 3, true);
	rig_turn(&rig);
	rig_expect(&rig, "ack 4*");
	rig_end(&rig);
}
END_TEST

/* A connection may be closed for another reason than a publish. */
START_TEST(a_closed_connection_needs_three_losses)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 4), 1);
	answer(&rig, 201, 1);
	for (int times = 1; times <= 2; times++) {
		rig_outbox_down(&rig, LOSS_CLOSED);
		rig_outbox_up(&rig);
		rig_expect(&rig, "publish 1 reply 1");
	}
	rig_outbox_down(&rig, LOSS_CLOSED);
	rig_outbox_up(&rig);
	rig_expect(&rig, "publish 1 dead 1");
	rig_end(&rig);
}
END_TEST

/* Several pools published: however often it happens, no parcel is blamed. */
START_TEST(a_close_of_a_shared_connection_blames_no_parcel)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 4), 2);
	answer(&rig, 201, 2);
	for (int times = 1; times <= 10; times++) {
		rig_outbox_down(&rig, LOSS_SHARED);
		ck_assert(!pool_is_publishing(rig.pool));
		rig_outbox_up(&rig);
		ck_assert(pool_is_publishing(rig.pool));
		rig_expect(&rig, "publish 1 reply 1"); /* but a probe */
	}
	rig_end(&rig);
}
END_TEST

START_TEST(a_copy_that_costs_a_channel_becomes_a_dead_letter)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 4), 1);
	answer(&rig, 500, 1);
	rig_outbox_down(&rig, LOSS_CHANNEL);
	ck_assert_int_eq(rig.reason, REASON_REPLY_REFUSED);
	rig_outbox_up(&rig);
	rig_expect(&rig, "publish 1 dead 1");
	rig_end(&rig);
}
END_TEST

/* No worker saw it: its dead letter must not report an attempt. */
START_TEST(a_renewal_that_costs_a_channel_is_no_attempt)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 4), 0);
	struct delivery *delivery = rig_delivery(1);
	delivery->returns = 10;
	rig_deliver_this(&rig, delivery);
	rig_expect(&rig, "publish 1 renew 1");
	rig_outbox_down(&rig, LOSS_CHANNEL);
	ck_assert_int_eq(rig.reason, REASON_RENEWAL_REFUSED);
	rig_outbox_up(&rig);
	rig_expect(&rig, "publish 1 dead 1");
	rig_end(&rig);
}
END_TEST

/* As where its reply costs one: the policy for replies decides, but never loses the rest. */
START_TEST(a_hand_back_that_costs_a_channel_is_a_reply_refused)
{
	static const struct {
		enum unroutable unroutable;
		const char *wanted;
	} cases[] = {
		{UNROUTABLE_REJECT, "publish 1 dead 1"},
		{UNROUTABLE_DROP, "publish 1 dead 1"},
		{UNROUTABLE_RETRY, "publish 1 retry 1"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rig rig;
		struct pool_config config = rig_config(1, 4);
		config.policy.unroutable = cases[i].unroutable;
		rig_begin(&rig, config, 1);
		rig_answer_this(&rig, 0, 1, rig_output(201, "own"));
		rig_expect(&rig, "publish 1 hand-back 1");
		rig_outbox_down(&rig, LOSS_CHANNEL);
		ck_assert_int_eq(rig.reason, REASON_REPLY_REFUSED);
		rig_outbox_up(&rig);
		rig_expect(&rig, cases[i].wanted);
		rig_end(&rig);
	}
}
END_TEST

/* It has no other target: it is published again, alone and after a wait; others overtake it. */
START_TEST(a_dead_letter_that_costs_channels_lets_others_pass)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 8);
	config.hard_limit = MTIME_NEVER;
	rig_begin(&rig, config, 3);
	answer(&rig, 400, 1);
	for (int round = 0; round < 3; round++) {
		/* Known by then, and alone: a closed connection is its doing, too. */
		rig_outbox_down(&rig, round == 1 ? LOSS_CLOSED : LOSS_CHANNEL);
		ck_assert_str_eq(rig.what, "cost a channel");
		rig.what = NULL;
		rig_outbox_up(&rig);
		rig_turn(&rig);
		rig_expect(&rig, "");
		rig_wait(&rig, 30 * MTIME_SECOND);
		rig_expect(&rig, "publish 1 dead 1");
	}
	rig_outbox_down(&rig, LOSS_CHANNEL);
	rig_outbox_up(&rig);
	rig_answer(&rig, 0, 201);
	rig_expect(&rig, "publish 1 reply 2");
	rig_wait(&rig, 30 * MTIME_SECOND); /* it is never let out beside another */
	rig_expect(&rig, "");
	rig_answer(&rig, 0, 201);
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "publish 2 dead 1, ack 2");
	rig_confirm(&rig, 2);
	rig_turn(&rig);
	rig_expect(&rig, "publish 3 reply 3, ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_culprit_is_rejected_if_the_broker_dead_letters)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 4);
	config.policy.dead_letter_by_broker = true;
	rig_begin(&rig, config, 1);
	answer(&rig, 500, 1);
	rig_outbox_down(&rig, LOSS_CHANNEL);
	rig_expect(&rig, "reject 1");
	rig_end(&rig);
}
END_TEST

/* Numbers start at 1 again: the old channel's number 1 is another parcel now. */
START_TEST(a_confirm_of_an_old_channel_confirms_nothing)
{
	static const enum event_kind kinds[] = {
		CONFIRMED, REFUSED, RETURNED, QUEUE_FOUND, OUTBOX_DOWN};
	struct rig rig;
	rig_begin(&rig, rig_config(1, 4), 2);
	answer(&rig, 201, 2);
	rig_outbox_down(&rig, LOSS_CONNECTION);
	rig_outbox_up(&rig);
	rig_forget(&rig);
	rig.outbox_epoch--;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		rig_outbox_fact(&rig, kinds[i], 1, false);
		rig_outbox_fact(&rig, kinds[i], 2, true);
	}
	rig.outbox_epoch++;
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_expect_told(&rig, "");
	rig_outbox_fact(&rig, CONFIRMED, 2, true);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2*");
	rig_end(&rig);
}
END_TEST

static Suite *epochs_suite(void)
{
	Suite *suite = suite_create("core/epochs");
	UNIT_CASE(suite, "source", a_lost_channel_voids_its_tags,
		a_task_released_in_the_turn_of_the_loss_is_not_acked,
		events_of_an_old_channel_are_dropped, a_parcel_of_an_orphan_is_not_published,
		a_published_parcel_may_outlive_its_channel, orphans_are_freed_with_the_pool,
		orphans_behind_a_crash_are_not_requeued);
	UNIT_CASE(suite, "outbox", a_confirm_of_an_old_channel_confirms_nothing);
	UNIT_CASE(suite, "culprit", a_parcel_alone_on_a_closed_channel_is_blamed,
		probes_are_published_one_at_a_time, a_closed_connection_needs_three_losses,
		a_close_of_a_shared_connection_blames_no_parcel,
		a_copy_that_costs_a_channel_becomes_a_dead_letter,
		a_renewal_that_costs_a_channel_is_no_attempt,
		a_hand_back_that_costs_a_channel_is_a_reply_refused,
		a_dead_letter_that_costs_channels_lets_others_pass,
		a_culprit_is_rejected_if_the_broker_dead_letters);
	return suite;
}

UNIT_MAIN(epochs_suite)
