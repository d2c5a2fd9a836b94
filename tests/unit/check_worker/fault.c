/* fault_cause: whatever goes wrong, a likely cause is named; and what the bytes of a frame show. */
#include "check_worker/fault.h"
#include "unit/unit.h"

START_TEST(every_fault_has_a_cause)
{
	enum fault_kind kind = (enum fault_kind)_i;
	bool is_ours = kind == FAULT_NONE || kind == FAULT_MEMORY || kind == FAULT_LAST;
	ck_assert_msg((*fault_cause(kind) == '\0') == is_ours, "%s", fault_name(kind));
}
END_TEST

/* The length of a second frame where the map of the first should begin. */
START_TEST(mixed_outputs_are_recognised)
{
	struct fault fault = {.kind = FAULT_NONE};
	fault_set(&fault, FAULT_BAD_OUTPUT, TEXT("\0\0\0\x8\0\0\0\x8\x82\xa1\x31\xcc"), "%s",
		"a bad output: bytes follow the frame's one object");
	const char *cause = fault_cause_in_bytes(&fault);
	ck_assert_msg(cause && strstr(cause, "two outputs are mixed"), "%s", cause ? cause : "");
}
END_TEST

static Suite *fault_suite(void)
{
	Suite *suite = suite_create("check_worker/fault");
	TCase *tcase = tcase_create("fault");
	tcase_add_loop_test(tcase, every_fault_has_a_cause, 0, FAULT_KINDS);
	tcase_add_test(tcase, mixed_outputs_are_recognised);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(fault_suite)
