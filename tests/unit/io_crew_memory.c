/* What workers have resident is told while they live, and only where somebody wants to know. */
#include "unit/support/io/child.h"
#include "unit/support/io/crewrig.h"

START_TEST(test_memory_is_told)
{
	struct crewrig rig;
	crewrig_open(&rig, PIPE_PATH, "echo", 3);
	for (uint16_t slot = 0; slot < 2; slot++) { /* the third has no process */
		crew_wish(rig.crew, slot, 1, SLOT_SPAWN);
		crewrig_expect(&rig, SLOT_READY);
	}
	crew_watch_memory(rig.crew, true);
	bool told[3] = {false, false, false};
	while (!told[0] || !told[1]) {
		const struct event *event = crewrig_expect(&rig, SLOT_MEMORY);
		ck_assert_uint_lt(event->slot.slot, 2);
		ck_assert_uint_eq(event->slot.life, 1);
		ck_assert_uint_gt(event->slot.bytes, 100 * 1024);
		ck_assert_uint_lt(event->slot.bytes, 1024 * 1024 * 1024);
		told[event->slot.slot] = true;
	}
	crew_watch_memory(rig.crew, false);
	for (uint16_t slot = 0; slot < 2; slot++) {
		crew_wish(rig.crew, slot, 1, SLOT_QUIT);
		crewrig_expect_gone(&rig, EXIT_STATUS, 0);
	}
	crewrig_close(&rig);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("io/crew_memory");
	TCase *memory = tcase_create("memory");
	tcase_add_test(memory, test_memory_is_told);
	suite_add_tcase(s, memory);
	return s;
}

CHILD_MAIN(suite)
