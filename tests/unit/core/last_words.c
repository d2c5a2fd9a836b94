/* Last words: the last stderr line of a worker goes with the task that it died of, and with no
 * other. The sanitizers check that each output is freed. */
#include "unit/support/core/rig.h"

static void start(struct rig *rig, uint16_t pipeline, uint64_t tasks)
{
	rig_start(rig, rig_config(1, pipeline));
	rig_deliver(rig, 1, tasks);
	rig_turn(rig);
	rig_forget(rig);
}

START_TEST(last_words_belong_to_the_head)
{
	struct rig rig;
	start(&rig, 2, 2);
	rig_gone_saying(&rig, 0, 1, "out of cheese");
	rig_expect(&rig, "publish 1 retry 1 'out of cheese'");
	rig_wait(&rig, MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	rig_forget(&rig);
	rig_turn(&rig); /* the task behind the head is sent again */
	rig_expect(&rig, "consume 6, send 0:2");
	rig_answer_this(&rig, 0, 2, rig_output(500, NULL));
	rig_expect(&rig, "publish 2 retry 2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_killed_worker_has_last_words)
{
	struct rig rig;
	start(&rig, 1, 1);
	rig_broken(&rig, 0, 1);
	rig_gone_saying(&rig, 0, 1, "what is that");
	rig_expect(&rig, "kill 0.1, publish 1 retry 1 'what is that'");
	rig_end(&rig);
	start(&rig, 1, 1);
	rig_wait(&rig, MTIME_MINUTE);
	rig_gone_saying(&rig, 0, 1, "still at it");
	rig_expect(&rig, "term 0.1, publish 1 retry 1 'still at it'");
	rig_end(&rig);
}
END_TEST

START_TEST(last_words_of_an_idle_worker_are_dropped)
{
	struct rig rig;
	start(&rig, 1, 0);
	rig_gone_saying(&rig, 0, 1, "bye");
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

/* It answered after the hard limit, and was killed: the tasks behind are not to blame. */
START_TEST(last_words_after_a_late_answer_are_dropped)
{
	struct rig rig;
	start(&rig, 2, 2);
	rig_wait(&rig, MTIME_MINUTE);
	rig_answer(&rig, 0, 200);
	rig_gone_saying(&rig, 0, 1, "hm");
	rig_turn(&rig);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	rig_expect(&rig, "term 0.1, spawn 0.2, ack 1, send 0:2");
	rig_answer_this(&rig, 0, 2, rig_output(500, NULL));
	rig_expect(&rig, "publish 1 retry 2");
	rig_end(&rig);
}
END_TEST

START_TEST(last_words_over_an_orphan_or_of_an_older_life_are_dropped)
{
	struct rig rig;
	start(&rig, 1, 1);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_gone_saying(&rig, 0, 1, "alone");
	rig_gone_saying(&rig, 0, 1, "twice");
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

START_TEST(last_words_at_a_forced_stop_are_dropped)
{
	struct rig rig;
	start(&rig, 1, 1);
	rig_command(&rig, COMMAND_FORCE);
	rig_gone_saying(&rig, 0, 1, "cut");
	rig_expect(&rig, "kill 0.1, requeue 1");
	rig_end(&rig);
}
END_TEST

static Suite *last_words_suite(void)
{
	Suite *suite = suite_create("core/last_words");
	UNIT_CASE(suite, "words", last_words_belong_to_the_head, a_killed_worker_has_last_words,
		last_words_of_an_idle_worker_are_dropped,
		last_words_after_a_late_answer_are_dropped,
		last_words_over_an_orphan_or_of_an_older_life_are_dropped,
		last_words_at_a_forced_stop_are_dropped);
	return suite;
}

UNIT_MAIN(last_words_suite)
