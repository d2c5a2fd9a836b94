/* Warnings about an environment or a file: probable mistakes only. */
#include "config/warnings.h"
#include "unit/support/config/loading.h"
#include <stdio.h>

/* Variables of workers and of the project's tools cause no warning. */
START_TEST(misspelt_variables_cause_warnings)
{
	static const char *const cases[][2] = {
		{"WPOOL_LOG_LEVLE", "WPOOL_LOG_LEVEL"},
		{"WPOOL_PIPELINES", "WPOOL_PIPELINE"},
		{"WPOOL_RETRY_ATTEMPT", "WPOOL_RETRY_ATTEMPTS"},
		{"WPOOL_Pipe", NULL},
		{"WPOOL_BODIE", NULL},
		{"WPOOL_BODI", "WPOOL_BODY"},
		{"WPOOL_DRAIN", NULL},
		{"WPOOL_LIMITS_HARD", NULL},
		{"wpool_drian", NULL},
		{"XWPOOL_DRIAN", NULL},
		{"WPOOL_", NULL},
		{"WPOOL_BUILD", NULL},
		{"WPOOL_TALLY", NULL},
		{"WPOOL_KEEP", NULL},
		{"WPOOL_SEED", NULL},
		{"WPOOL_TEST_NODE", NULL},
		{"WPOOL_TEST_SCRATCH", NULL},
		{"WPOOL_HOME", NULL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char variable[100], expected[200] = "";
		char *environment[] = {variable, NULL};
		struct problems warnings = {0};
		snprintf(variable, sizeof variable, "%s=secret", cases[i][0]);
		if (cases[i][1])
			snprintf(expected, sizeof expected,
				"%s: no variable of wpool, so it is not used; the nearest is %s",
				cases[i][0], cases[i][1]);
		warnings_add_names(environment, &warnings);
		ck_assert_uint_eq(warnings.count, *expected ? 1 : 0);
		if (*expected)
			ck_assert_str_eq(warnings.list[0].message, expected);
		problems_release(&warnings);
	}
}
END_TEST

START_TEST(environment_warnings_are_reported)
{
	static const char *const environment[] = {"AMQP_URL=amqp://u:secret@e",
		"RABBITMQ_HOSTNAME=f", "WPOOL_DRIAN=secret", "QUEUENAME=q", "WORKER_COMMAND=w",
		NULL};
	const char *warnings =
		"WPOOL_DRIAN: no variable of wpool, so it is not used; the nearest is "
		"WPOOL_DRAIN\n"
		"RABBITMQ_HOSTNAME: not used, since AMQP_URL is set, too, and wins\n";
	struct config_flags flags = {0};
	loading_load(&flags, environment);
	ck_assert_int_eq(loaded.rc, RC_OK);
	ck_assert_str_eq(loaded.problems, warnings);
	flags.broker = "amqp://flag"; /* then the environment is not used to find the broker */
	loading_load(&flags, environment + 1);
	ck_assert_int_eq(loaded.rc, RC_OK);
	ck_assert_ptr_null(strstr(loaded.problems, "RABBITMQ"));
	loading_write(TEXT("broker: {url: amqp://file}\n"
			   "pools: [{queue: q, command: w}]\n"));
	loading_load(&(struct config_flags){.file = LOADING_FILE}, environment);
	ck_assert_int_eq(loaded.rc, RC_OK);
	ck_assert_ptr_null(strstr(loaded.problems, "RABBITMQ"));
}
END_TEST

/* The dead_letter "broker" is the broker's own policy, even if a pool has a queue of that name. */
START_TEST(dead_letters_to_queue_of_other_pool_cause_warning)
{
	loading_write(TEXT("pools:\n"
			   "- {queue: a, command: w, retry: {dead_letter: b}}\n"
			   "- {queue: b, command: w}\n"
			   "- {queue: c, command: w, retry: {dead_letter: b.dead}}\n"
			   "- {queue: broker, command: w}\n"
			   "- {queue: d, command: w, retry: {dead_letter: broker}}\n"));
	loading_load(&(struct config_flags){.file = LOADING_FILE}, NULL);
	ck_assert_int_eq(loaded.rc, RC_OK);
	ck_assert_str_eq(loaded.problems,
		"pools[0].retry.dead_letter: \"b\" is the queue of pools[1], which works what is "
		"given up here as tasks of its own\n");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("config/warnings");
	TCase *tcase = tcase_create("warnings");
	tcase_add_checked_fixture(tcase, loading_set_up, loading_tear_down);
	tcase_add_test(tcase, misspelt_variables_cause_warnings);
	tcase_add_test(tcase, environment_warnings_are_reported);
	tcase_add_test(tcase, dead_letters_to_queue_of_other_pool_cause_warning);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
