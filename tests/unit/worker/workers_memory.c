/* What workers have resident is told while they live, and only where somebody wants to know. */
#include "unit/support/process/child.h"
#include "unit/support/worker/workers_rig.h"

START_TEST(memory_of_workers_is_reported)
{
	struct workers_rig rig;
	workers_rig_open(&rig, PIPE_PATH, "echo", 3);
	for (uint16_t slot = 0; slot < 2; slot++) { /* the third has no process */
		workers_request(rig.workers, slot, 1, SLOT_SPAWN);
		workers_rig_expect(&rig, SLOT_READY);
	}
	workers_watch_memory(rig.workers, true);
	bool told[3] = {false, false, false};
	while (!told[0] || !told[1]) {
		const struct event *event = workers_rig_expect(&rig, SLOT_MEMORY);
		ck_assert_uint_lt(event->slot.slot, 2);
		ck_assert_uint_eq(event->slot.life, 1);
		ck_assert_uint_gt(event->slot.bytes, 100 * 1024);
		ck_assert_uint_lt(event->slot.bytes, 1024 * 1024 * 1024);
		told[event->slot.slot] = true;
	}
	workers_watch_memory(rig.workers, false);
	for (uint16_t slot = 0; slot < 2; slot++) {
		workers_request(rig.workers, slot, 1, SLOT_QUIT);
		workers_rig_expect_gone(&rig, EXIT_STATUS, 0);
	}
	workers_rig_close(&rig);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("worker/workers_memory");
	TCase *memory = tcase_create("memory");
	tcase_add_test(memory, memory_of_workers_is_reported);
	suite_add_tcase(s, memory);
	return s;
}

CHILD_MAIN(suite)
