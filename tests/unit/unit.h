/* What every unit test program shares: main around one check suite. */
#ifndef UNIT_H
#define UNIT_H

#include <check.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* Add a test case with these tests to a suite. */
#define UNIT_CASE(suite, name, ...) UNIT_CASE_WITH(suite, name, NULL, NULL, __VA_ARGS__)

/* The same; set_up runs before each test, tear_down after it. */
#define UNIT_CASE_WITH(suite, name, set_up, tear_down, ...)                                        \
	do {                                                                                       \
		TCase *tcase = tcase_create(name);                                                 \
		tcase_add_checked_fixture(tcase, set_up, tear_down);                               \
		const TTest *tests[] = {__VA_ARGS__};                                              \
		for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)                          \
			tcase_add_test(tcase, tests[i]);                                           \
		suite_add_tcase(suite, tcase);                                                     \
	} while (0)

/* The path of this program, for a test that runs itself again. Under valgrind, executing
 * /proc/self/exe would run valgrind. */
static inline const char *unit_own_path(void)
{
	static char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
	ck_assert_int_gt(len, 0);
	path[len] = '\0';
	return path;
}

/* Run the suite. Return main's exit code. */
static inline int unit_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define UNIT_MAIN(suite_function)                                                                  \
	int main(void)                                                                             \
	{                                                                                          \
		return unit_run(suite_function());                                                 \
	}

#endif
