/* What is odd about an environment is told, and nothing that may be meant. */
#include "config/warnings.h"
#include "unit/support/config/loading.h"
#include <stdio.h>

/* A worker's own variables, and the project's tools', are not ours to judge. */
START_TEST(test_odd_names)
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
		struct buf out;
		buf_init(&out, 1000);
		snprintf(variable, sizeof variable, "%s=secret", cases[i][0]);
		if (cases[i][1])
			snprintf(expected, sizeof expected,
				"%s: no variable of wpool, so it is not used; the nearest is %s\n",
				cases[i][0], cases[i][1]);
		warnings_add_names(environment, &out);
		ck_assert_msg(text_is(buf_text(&out), text_from(expected)), "%s: %.*s", cases[i][0],
			TEXT_ARGS(buf_text(&out)));
		buf_release(&out);
	}
}
END_TEST

START_TEST(test_doubts)
{
	static const char *const environment[] = {"AMQP_URL=amqp://u:secret@e",
		"RABBITMQ_HOSTNAME=f", "WPOOL_DRIAN=secret", "QUEUENAME=q", "WORKER_COMMAND=w",
		NULL};
	const char *doubts = "WPOOL_DRIAN: no variable of wpool, so it is not used; the nearest is "
			     "WPOOL_DRAIN\n"
			     "RABBITMQ_HOSTNAME: not used, since AMQP_URL is set, too, and wins\n";
	struct config_flags flags = {0};
	loading_load(&flags, environment);
	ck_assert_int_eq(loaded.rc, RC_OK);
	ck_assert_str_eq(loaded.problems, doubts);
	flags.broker = "amqp://flag"; /* then the environment was not asked */
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

/* A pool that works what another gave up is hardly meant; the one named broker is no queue. */
START_TEST(test_dead_letters_of_another)
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
	TCase *tcase = tcase_create("doubts");
	tcase_add_checked_fixture(tcase, loading_set_up, loading_tear_down);
	tcase_add_test(tcase, test_odd_names);
	tcase_add_test(tcase, test_doubts);
	tcase_add_test(tcase, test_dead_letters_of_another);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
