/* The memory of sessions: keys of any length, and what happens without memory. */
#include "unit/support/core/keyed.h"
#include "unit/support/core/memory.h"

/* Longer ones than those whose memory is kept for other sessions. */
#define LONG_KEY "0123456789012345678901234567890123456789-"

static void deliver_with_long_key(struct rig *rig, const char *key)
{
	struct delivery *delivery = rig_delivery(++rig->last_tag);
	delivery->key = text_from(key);
	rig_deliver_this(rig, delivery);
}

START_TEST(long_keys_are_told_apart_by_their_ends)
{
	struct rig rig;
	rig_start(&rig, keyed_config(3));
	for (uint64_t tag = 0; tag < 6; tag += 3) {
		rig.last_tag = tag;
		deliver_with_long_key(&rig, LONG_KEY "a");
		deliver_with_long_key(&rig, LONG_KEY "a");
		deliver_with_long_key(&rig, LONG_KEY "b");
		rig_turn(&rig);
		ck_assert_int_eq(keyed_state(&rig, LONG_KEY "a"), SESSION_RUNNING);
		rig_expect(&rig, tag ? "send 0:4, send 1:6" : "send 0:1, send 1:3");
		rig_answer(&rig, 1, 200);
		keyed_answer(
			&rig, 0, 200, tag ? "send 0:5, ack 4, ack 6" : "send 0:2, ack 1, ack 3");
		keyed_answer(&rig, 0, 200, tag ? "ack 5" : "ack 2");
		rig_turn(&rig);
		ck_assert(!keyed_exists(&rig, LONG_KEY "a"));
	}
	rig_end(&rig);
}
END_TEST

/* Each leave counts as a return of all that is unacked. */
START_TEST(without_memory_the_channel_is_left_once_a_second)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	callocs_left = 0; /* the timer of a session */
	keyed_deliver(&rig, "a");
	callocs_left = LONG_MAX;
	rig_expect(&rig, "leave");
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	rig_expect(&rig, "");
	ck_assert_int_eq(pool_deadline(rig.pool), rig.now + MTIME_SECOND);
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "consume 8");
	rig_source_up(&rig);
	rig.last_tag = 0;
	keyed_deliver(&rig, "a+");
	rig_expect(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

/* What is allocated for the first session: its timer and its place in the table by keys; the table
 * of all sessions, and itself. Whichever there is no memory for, the message comes again. */
static const struct {
	long callocs, mallocs;
} lacks[] = {{0, LONG_MAX}, {1, LONG_MAX}, {LONG_MAX, 0}, {LONG_MAX, 1}};

START_TEST(without_memory_for_a_session_its_message_goes_back)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	struct delivery *delivery = rig_delivery(1);
	delivery->key = TEXT(LONG_KEY);
	callocs_left = lacks[_i].callocs;
	mallocs_left = lacks[_i].mallocs;
	rig_deliver_this(&rig, delivery);
	callocs_left = mallocs_left = LONG_MAX;
	rig_expect(&rig, "leave");
	ck_assert(!keyed_exists(&rig, LONG_KEY));
	ck_assert_uint_eq(pool_session_counts(rig.pool).renewals[RENEWAL_MEMORY], 1);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_wait(&rig, MTIME_SECOND);
	rig_source_up(&rig);
	rig_forget(&rig);
	deliver_with_long_key(&rig, LONG_KEY);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

static Suite *sessions_memory_suite(void)
{
	Suite *suite = suite_create("core/sessions_memory");
	UNIT_CASE(suite, "memory", long_keys_are_told_apart_by_their_ends,
		without_memory_the_channel_is_left_once_a_second);
	TCase *lack = tcase_create("lack");
	tcase_add_loop_test(lack, without_memory_for_a_session_its_message_goes_back, 0,
		sizeof lacks / sizeof *lacks);
	suite_add_tcase(suite, lack);
	return suite;
}

UNIT_MAIN(sessions_memory_suite)
