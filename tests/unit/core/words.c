/* Last words: the line a worker wrote last goes with the task that it died over, and with no other.
 * Under the sanitizers they also show who frees them. */
#include "unit/support/core/rig.h"

static void start(struct rig *rig, uint16_t pipeline, uint64_t tasks)
{
	rig_start(rig, rig_config(1, pipeline));
	rig_deliver(rig, 1, tasks);
	rig_turn(rig);
	rig_forget(rig);
}

START_TEST(the_head_takes_them_along)
{
	struct rig rig;
	start(&rig, 2, 2);
	rig_gone_saying(&rig, 0, 1, "out of cheese");
	rig_expect(&rig, "publish 1 retry 1 'out of cheese'");
	rig_wait(&rig, MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	rig_forget(&rig);
	rig_turn(&rig); /* the one behind it was not at fault */
	rig_expect(&rig, "consume 6, send 0:2");
	rig_answer_this(&rig, 0, 2, rig_output(500, NULL));
	rig_expect(&rig, "publish 2 retry 2");
	rig_end(&rig);
}
END_TEST

START_TEST(of_a_worker_that_was_killed_too)
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

START_TEST(an_idle_worker_has_none_to_say)
{
	struct rig rig;
	start(&rig, 1, 0);
	rig_gone_saying(&rig, 0, 1, "bye");
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

/* It answered, and then died by our hand: the tasks behind that are nobody's fault. */
START_TEST(after_a_late_answer_they_are_nobodys)
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

START_TEST(of_an_orphan_or_an_older_life_they_are_dropped)
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

START_TEST(of_a_forced_stop_they_are_dropped)
{
	struct rig rig;
	start(&rig, 1, 1);
	rig_command(&rig, COMMAND_FORCE);
	rig_gone_saying(&rig, 0, 1, "cut");
	rig_expect(&rig, "kill 0.1, requeue 1");
	rig_end(&rig);
}
END_TEST

static Suite *words_suite(void)
{
	Suite *suite = suite_create("core/words");
	UNIT_CASE(suite, "words", the_head_takes_them_along, of_a_worker_that_was_killed_too,
		an_idle_worker_has_none_to_say, after_a_late_answer_they_are_nobodys,
		of_an_orphan_or_an_older_life_they_are_dropped, of_a_forced_stop_they_are_dropped);
	return suite;
}

UNIT_MAIN(words_suite)
