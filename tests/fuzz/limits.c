/* The counting of memory at its limit: so much passes, one byte more ends the process. */
#include "fuzz/memory.h"
#include "unit/unit.h"

#include <signal.h>

const struct fuzz_memory fuzz_memory = {.base = 10000, .multiple = 10};

static size_t wanted;
static bool is_paused, is_lost, fails;

void fuzz_one(struct text input)
{
	(void)input;
	FUZZ_REQUIRE(!fails);
	if (is_paused)
		memory_pause();
	for (int i = 0; i < 3; i++) { /* what was freed counts no more */
		void *volatile block = realloc(malloc(1), wanted);
		if (!is_lost)
			free(block);
	}
	if (is_paused)
		memory_resume();
}

static void play(size_t bytes)
{
	static const uint8_t input[1000];
	wanted = bytes;
	LLVMFuzzerTestOneInput(input, sizeof input);
}

START_TEST(memory_within_the_limit_is_allowed)
{
	play(19000);
}
END_TEST

START_TEST(memory_over_the_limit_aborts)
{
	play(20001);
}
END_TEST

START_TEST(paused_memory_does_not_count)
{
	is_paused = true;
	play(100000);
}
END_TEST

START_TEST(memory_that_is_not_freed_aborts)
{
	is_lost = true;
	play(1);
}
END_TEST

START_TEST(a_broken_requirement_aborts)
{
	fails = true;
	play(1);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("fuzz/limits");
	TCase *limits = tcase_create("limits");
	tcase_add_test(limits, memory_within_the_limit_is_allowed);
	tcase_add_test_raise_signal(limits, memory_over_the_limit_aborts, SIGABRT);
	tcase_add_test(limits, paused_memory_does_not_count);
	tcase_add_test_raise_signal(limits, memory_that_is_not_freed_aborts, SIGABRT);
	tcase_add_test_raise_signal(limits, a_broken_requirement_aborts, SIGABRT);
	suite_add_tcase(s, limits);
	return s;
}

UNIT_MAIN(suite)
