/* The window of a pool with sessions: a larger one is named in the token before it is used; a
 * smaller one is used when nothing is unacked and it can hold all that the queue has, and named
 * then. A second loss of a smaller window would break the order. */
#include "unit/support/core/keyed.h"

#define HELD_SPAN MTIME_MINUTE

static struct pool_config config;

static void configure(struct rig *rig, uint16_t prefetch)
{
	config.prefetch = prefetch;
	rig_configure(rig, config);
}

/* It closed as requested. */
static void close_channel(struct rig *rig)
{
	rig_source_fact(rig, SOURCE_DOWN);
	rig->last_tag = 0;
	rig_turn(rig);
}

static void open_channel(struct rig *rig, uint32_t window)
{
	rig_step(rig, (struct event){.kind = SOURCE_UP,
			      .source = {.epoch = ++rig->source_epoch, .window = window}});
	rig_turn(rig);
}

static void name_window(struct rig *rig, uint32_t window)
{
	rig_step(rig, (struct event){.kind = TOKEN_WINDOW, .token = {.window = window}});
	rig_turn(rig);
}

static void begin_alone(struct rig *rig)
{
	config = keyed_config(1);
	config.session.max_unacked_age = 10 * MTIME_MINUTE;
	config.hard_limit = MTIME_NEVER;
	rig_start(rig, config);
}

/* The pool consumes with the window that the token names; its prefetch is 8. */
static void begin_with_token(struct rig *rig, uint32_t window)
{
	config = keyed_config(1);
	config.hard_limit = MTIME_NEVER;
	config.session.takeover_delay = 30 * MTIME_SECOND;
	rig_new(rig, &config);
	rig_turn(rig);
	rig_ready(rig, 0, 1);
	rig_outbox_up(rig);
	rig_forget(rig);
	rig_step(rig, (struct event){
			      .kind = TOKEN_HELD, .token = {.is_orderly = true, .window = window}});
	rig_turn(rig);
	rig_source_up(rig);
}

START_TEST(it_is_not_narrowed_before_nothing_is_unacked)
{
	struct rig rig;
	begin_alone(&rig);
	keyed_deliver(&rig, "a a");
	configure(&rig, 4);
	rig_forget(&rig);
	rig_wait(&rig, 10 * MTIME_MINUTE);
	rig_expect(&rig, "leave");
	close_channel(&rig);
	rig_expect(&rig, "consume 8");
	rig_source_up(&rig);
	keyed_deliver(&rig, "a=1+ a=2+");
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	keyed_answer(&rig, 0, 200, "ack 2");
	rig_turn(&rig);
	rig_expect(&rig, "leave");
	close_channel(&rig);
	rig_expect(&rig, "consume 4");
	rig_end(&rig);
}
END_TEST

/* Up to 8 messages may be on their way to the channel that was lost. */
START_TEST(a_lost_channel_does_not_narrow_it)
{
	struct rig rig;
	begin_alone(&rig);
	rig_forget(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	configure(&rig, 4);
	rig_source_up(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "leave");
	close_channel(&rig);
	rig_expect(&rig, "consume 4");
	rig_end(&rig);
}
END_TEST

/* More was ready than the smaller one can hold: the order of what came back would break. */
START_TEST(a_queue_with_more_messages_keeps_it)
{
	struct rig rig;
	begin_alone(&rig);
	configure(&rig, 4);
	rig_turn(&rig);
	close_channel(&rig);
	rig_forget(&rig);
	open_channel(&rig, 8);
	rig_wait(&rig, HELD_SPAN - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "leave");
	close_channel(&rig);
	rig_expect(&rig, "consume 4");
	open_channel(&rig, 4);
	rig_wait(&rig, HELD_SPAN);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

/* Its messages have not come back yet. */
START_TEST(what_is_detached_keeps_it)
{
	struct rig rig;
	begin_alone(&rig);
	keyed_deliver(&rig, "a");
	configure(&rig, 4);
	rig_forget(&rig);
	keyed_lose_channel(&rig);
	rig_expect(&rig, "");
	keyed_deliver(&rig, "a=1+");
	keyed_answer(&rig, 0, 200, "ack 1");
	rig_turn(&rig);
	rig_expect(&rig, "leave");
	rig_end(&rig);
}
END_TEST

START_TEST(a_larger_one_without_a_token_is_used_when_nothing_is_unacked)
{
	struct rig rig;
	begin_alone(&rig);
	keyed_deliver(&rig, "a");
	configure(&rig, 20);
	rig_turn(&rig);
	rig_forget(&rig);
	keyed_answer(&rig, 0, 200, "ack 1");
	rig_turn(&rig);
	rig_expect(&rig, "leave");
	close_channel(&rig);
	rig_expect(&rig, "consume 20");
	rig_end(&rig);
}
END_TEST

/* It was requested while the channel was being opened. */
START_TEST(a_larger_one_outlives_a_channel_that_was_opened_before)
{
	struct rig rig;
	begin_alone(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	configure(&rig, 20);
	rig_forget(&rig);
	open_channel(&rig, 8);
	rig_expect(&rig, "leave");
	close_channel(&rig);
	rig_expect(&rig, "consume 20");
	rig_end(&rig);
}
END_TEST

/* A smaller one is on its way when a larger one is configured. */
START_TEST(a_larger_one_outlives_a_smaller_one_that_comes_later)
{
	struct rig rig;
	begin_alone(&rig);
	configure(&rig, 4);
	rig_turn(&rig);
	rig_forget(&rig);
	close_channel(&rig);
	rig_expect(&rig, "consume 4");
	configure(&rig, 20);
	open_channel(&rig, 4);
	rig_expect(&rig, "leave");
	close_channel(&rig);
	rig_expect(&rig, "consume 20");
	rig_end(&rig);
}
END_TEST

START_TEST(a_larger_one_is_named_before_it_is_used)
{
	struct rig rig;
	begin_with_token(&rig, 8);
	rig_expect(&rig, "consume 8");
	configure(&rig, 20);
	rig_turn(&rig);
	rig_expect(&rig, "window 20");
	name_window(&rig, 8); /* of an earlier request */
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_source_up(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "");
	name_window(&rig, 20);
	rig_expect(&rig, "leave");
	close_channel(&rig);
	rig_expect(&rig, "consume 20");
	rig_end(&rig);
}
END_TEST

START_TEST(the_smaller_one_of_a_former_holder_is_used_until_a_larger_one_is_named)
{
	struct rig rig;
	begin_with_token(&rig, 4);
	rig_expect(&rig, "window 8, consume 4");
	name_window(&rig, 8);
	rig_expect(&rig, "leave");
	close_channel(&rig);
	rig_expect(&rig, "consume 8");
	rig_source_up(&rig);
	name_window(&rig, 8);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

START_TEST(the_larger_one_of_a_former_holder_is_used_and_a_smaller_one_named_after)
{
	struct rig rig;
	begin_with_token(&rig, 100);
	ck_assert_ptr_nonnull(strstr(rig.told, "WINDOW_KEPT"));
	rig_turn(&rig);
	rig_expect(&rig, "consume 100, leave");
	close_channel(&rig);
	rig_expect(&rig, "consume 8");
	open_channel(&rig, 8);
	rig_expect(&rig, "window 8");
	rig_end(&rig);
}
END_TEST

/* The smaller prefetch is taken back before the channel has closed. */
START_TEST(a_prefetch_that_is_taken_back_narrows_nothing)
{
	struct rig rig;
	begin_with_token(&rig, 8);
	configure(&rig, 4);
	rig_turn(&rig);
	rig_expect(&rig, "consume 8, window 8, leave");
	configure(&rig, 8);
	close_channel(&rig);
	rig_expect(&rig, "window 8, consume 8");
	rig_end(&rig);
}
END_TEST

/* The larger one is named before the channel is open that was to have the smaller one. */
START_TEST(a_larger_one_is_used_after_a_smaller_one_was_kept_out)
{
	struct rig rig;
	begin_with_token(&rig, 8);
	configure(&rig, 4);
	rig_turn(&rig);
	close_channel(&rig);
	rig_expect(&rig, "consume 8, window 8, leave, consume 4");
	configure(&rig, 20);
	name_window(&rig, 20);
	rig_expect(&rig, "window 20");
	open_channel(&rig, 8);
	rig_expect(&rig, "leave");
	close_channel(&rig);
	rig_expect(&rig, "consume 20");
	rig_end(&rig);
}
END_TEST

/* The next holder's token decides. */
START_TEST(a_standby_names_nothing)
{
	struct rig rig;
	begin_with_token(&rig, 8);
	rig_step(&rig, (struct event){.kind = TOKEN_LOST});
	rig_turn(&rig);
	rig_forget(&rig);
	configure(&rig, 20);
	configure(&rig, 4);
	close_channel(&rig);
	rig_expect(&rig, "");
	rig_step(&rig,
		(struct event){.kind = TOKEN_HELD, .token = {.is_orderly = true, .window = 6}});
	rig_turn(&rig);
	rig_expect(&rig, "consume 6");
	rig_end(&rig);
}
END_TEST

/* Without a token, and after a purge of it, the window of a supervisor that has ended is forgotten:
 * docs/ordering.md warns of it. Messages of the larger one that come back do not change that. */
START_TEST(without_a_token_the_window_of_a_former_supervisor_is_forgotten)
{
	struct rig rig;
	begin_alone(&rig);
	rig_end(&rig);
	config.prefetch = 2;
	rig_new(&rig, &config);
	rig_turn(&rig);
	rig_ready(&rig, 0, 1);
	rig_outbox_up(&rig);
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.done, "consume 2"));
	ck_assert_ptr_null(strstr(rig.told, "WINDOW_KEPT"));
	rig_source_up(&rig);
	rig_forget(&rig);
	keyed_deliver(&rig, "a+ b+"); /* redelivered */
	rig_expect(&rig, "send 0:1");
	ck_assert_ptr_null(strstr(rig.told, "WINDOW_KEPT"));
	rig_end(&rig);
}
END_TEST

static Suite *session_window_suite(void)
{
	Suite *suite = suite_create("core/session_window");
	UNIT_CASE(suite, "alone", it_is_not_narrowed_before_nothing_is_unacked,
		a_lost_channel_does_not_narrow_it, a_queue_with_more_messages_keeps_it,
		what_is_detached_keeps_it,
		a_larger_one_without_a_token_is_used_when_nothing_is_unacked,
		a_larger_one_outlives_a_channel_that_was_opened_before);
	UNIT_CASE(suite, "token", a_larger_one_is_named_before_it_is_used,
		the_smaller_one_of_a_former_holder_is_used_until_a_larger_one_is_named,
		the_larger_one_of_a_former_holder_is_used_and_a_smaller_one_named_after,
		a_larger_one_outlives_a_smaller_one_that_comes_later,
		a_prefetch_that_is_taken_back_narrows_nothing,
		a_larger_one_is_used_after_a_smaller_one_was_kept_out, a_standby_names_nothing,
		without_a_token_the_window_of_a_former_supervisor_is_forgotten);
	return suite;
}

UNIT_MAIN(session_window_suite)
