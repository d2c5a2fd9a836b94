/* Workers that their tasks kill: how soon the next one is started. */
#include "unit/support/core/rig.h"
#include <stdio.h>

/* After the end of the life before this one. */
static void expect_start_after(struct rig *rig, uint32_t life, mtime wait)
{
	char wanted[32];
	snprintf(wanted, sizeof wanted, "spawn 0.%u", life);
	rig_turn(rig); /* it may have to rest or to consume again */
	rig_forget(rig);
	rig_wait(rig, wait - 1);
	rig_expect(rig, "");
	rig_wait(rig, 1);
	rig_expect(rig, wanted);
}

static void die_at_work(struct rig *rig, uint32_t life)
{
	rig_ready(rig, 0, life);
	rig_deliver(rig, 100 + life, 100 + life);
	rig_turn(rig);
	rig_gone(rig, 0, life);
	rig_turn(rig);
	ck_assert_ptr_null(strstr(rig->done, "rest"));
}

/* A backlog of poison: a worker that was good is started again soon, each time. One whose program
 * has ceased to start is not, whatever it did before. */
START_TEST(poison_does_not_lengthen_the_wait_of_a_good_worker)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	rig_answer(&rig, 0, 200);
	rig_deliver(&rig, 100, 100);
	rig_turn(&rig);
	rig_gone(&rig, 0, 1); /* it had answered */
	rig_forget(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 0.2");
	for (uint32_t life = 2; life <= 20; life++) {
		die_at_work(&rig, life);
		expect_start_after(&rig, life + 1, 2 * MTIME_SECOND);
	}
	rig_gone(&rig, 0, 21); /* before it was ready */
	expect_start_after(&rig, 22, MTIME_SECOND);
	rig_ready(&rig, 0, 22);
	rig_gone(&rig, 0, 22);
	expect_start_after(&rig, 23, 2 * MTIME_SECOND);
	/* It has a task, but nothing shows any more that this program works. */
	rig_ready(&rig, 0, 23);
	rig_turn(&rig);
	rig_deliver(&rig, 200, 200);
	rig_turn(&rig);
	rig_gone(&rig, 0, 23);
	expect_start_after(&rig, 24, 4 * MTIME_SECOND);
	rig_end(&rig);
}
END_TEST

static Suite *poison_suite(void)
{
	Suite *suite = suite_create("core/poison");
	UNIT_CASE(suite, "poison", poison_does_not_lengthen_the_wait_of_a_good_worker);
	return suite;
}

UNIT_MAIN(poison_suite)
