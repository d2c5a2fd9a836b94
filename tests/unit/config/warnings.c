/* Warnings about an environment or a file: probable mistakes only. */
#include "config/warnings.h"
#include "unit/support/config/loading.h"
#include <stdio.h>
#include <string.h>

struct variable_case {
	const char *environment[6];
	const char *yaml; /* before the pools of a file; NULL: no file */
	const char *broker, *log_level;
	const char *warnings;
};

#define NO_VARIABLE " has no effect, because wpool has no such variable"
#define POOL        "QUEUENAME=q", "WORKER_COMMAND=w"

static const struct variable_case variable_cases[] = {
	/* names */
	{{"WPOOL_LOG_LEVLE=info", POOL}, NULL, NULL, NULL,
		"WPOOL_LOG_LEVLE" NO_VARIABLE "; the nearest is WPOOL_LOG_LEVEL\n"},
	{{"WPOOL_RETRY_ATTEMPT=3", "WPOOL_BODI=3"}, "", NULL, NULL,
		"WPOOL_RETRY_ATTEMPT" NO_VARIABLE "; the nearest is WPOOL_RETRY_ATTEMPTS\n"
		"WPOOL_BODI" NO_VARIABLE "; the nearest is WPOOL_BODY\n"},
	{{"WPOOL_HOME=secret", "WPOOL_=secret"}, "", NULL, NULL,
		"WPOOL_HOME" NO_VARIABLE "\nWPOOL_" NO_VARIABLE "\n"},
	{{"XWPOOL_DRIAN=1s", "wpool_drian=1s", "WPOOL_DRIAN=", "WPOOL_WORKER=1.2",
		 "RABBITMQ_NODENAME=n"},
		"", NULL, NULL, ""},
	/* what Kubernetes sets for Services named wpool, wpool-metrics and rabbitmq */
	{{"WPOOL_SERVICE_HOST=10.0.0.1", "WPOOL_SERVICE_PORT=9464", "WPOOL_SERVICE_PORT_HTTP=9464",
		 "WPOOL_PORT=tcp://10.0.0.1:9464", "WPOOL_METRICS_SERVICE_HOST=10.0.0.1"},
		"", NULL, NULL, ""},
	{{"WPOOL_PORT_9464_TCP=tcp://10.0.0.1:9464", "WPOOL_PORT_9464_TCP_PROTO=tcp",
		 "WPOOL_PORT_9464_TCP_ADDR=10.0.0.1", "RABBITMQ_PORT=tcp://10.0.0.1:5672",
		 "RABBITMQ_SERVICE_HOST=10.0.0.1"},
		"broker: {url: amqp://h}\n", NULL, NULL, ""},
	{{"WPOOL_PORT=9464"}, "", NULL, NULL, "WPOOL_PORT" NO_VARIABLE "\n"},
	/* addresses */
	{{"AMQP_URL=amqp://u:secret@h", "RABBITMQ_HOSTNAME=h", "RABBITMQ_PASSWORD=secret", POOL},
		NULL, NULL, NULL,
		"RABBITMQ_HOSTNAME has no effect, because AMQP_URL is set\n"
		"RABBITMQ_PASSWORD has no effect, because AMQP_URL is set\n"},
	{{"AMQP_URL=amqp://u:secret@h", "RABBITMQ_PORT=7", POOL}, NULL, "amqp://flag", NULL,
		"AMQP_URL has no effect, because --broker is given\n"
		"RABBITMQ_PORT has no effect, because --broker is given\n"},
	{{"AMQP_URL=amqp://u:secret@h", "RABBITMQ_USERNAME=secret"},
		"broker:\n  url: amqp://file\n", NULL, NULL,
		"AMQP_URL has no effect, because wpool.yaml:2 has broker.url\n"
		"RABBITMQ_USERNAME has no effect, because wpool.yaml:2 has broker.url\n"},
	{{"AMQP_URL=amqp://u:secret@h", "RABBITMQ_VHOST=v", "RABBITMQ_HOSTNAME=h"},
		"broker: {url: ['amqp://h/${RABBITMQ_VHOST:-}', '${AMQP_URL}']}\n", NULL, NULL,
		"RABBITMQ_HOSTNAME has no effect, because wpool.yaml:1 has broker.url\n"},
	{{"RABBITMQ_HOSTNAME=h", "RABBITMQ_PASSWORD=secret", "RABBITMQ_PORT=7"}, "", NULL, NULL,
		""},
	{{"AMQP_URL=amqp://u:secret@h"}, "", NULL, NULL, ""},
	{{"RABBITMQ_HOSTNAME=h", "RABBITMQ_PASSWORD=secret"}, "broker: {password_file: /f}\n", NULL,
		NULL,
		"RABBITMQ_PASSWORD has no effect, because wpool.yaml:1 has broker.password_file\n"},
	/* settings */
	{{"WPOOL_DRAIN=1s", "WPOOL_HEARTBEAT=1s", "WPOOL_PIPELINE=3", "PREFETCH=3",
		 "WORKER_COUNT=3"},
		"drain: 2s\n", NULL, NULL,
		"WPOOL_DRAIN has no effect, because wpool.yaml:1 has drain\n"
		"WPOOL_PIPELINE has no effect, because the pools are in wpool.yaml\n"},
	{{"WPOOL_DRAIN=1s", "WPOOL_NAME=n", "WPOOL_CWD=secret"},
		"drain: ${WPOOL_DRAIN:-2s}\ncontrol: {socket: '/$${WPOOL_CWD}$${WPOOL_NAME}'}\n",
		NULL, NULL,
		"WPOOL_NAME has no effect, because the pools are in wpool.yaml\n"
		"WPOOL_CWD has no effect, because the pools are in wpool.yaml\n"},
	{{"WPOOL_LOG_LEVEL=warn", "WPOOL_PIPELINE=3", POOL}, NULL, NULL, "info",
		"WPOOL_LOG_LEVEL has no effect, because --log-level is given\n"},
	/* for workers; a supervisor that is a worker itself finds that of the outer one */
	{{"WPOOL_CONCURRENCY=5", "WPOOL_WORKER=1.2", "WPOOL_PRELOAD=1", "WPOOL_TASK=x",
		 "WPOOL_LAST_EXIT=1 signal 9"},
		"", NULL, NULL, ""},
	{{"WPOOL_POOL=p", "WPOOL_SLOT=0", "WPOOL_WORKERS=4", "WPOOL_WORKER=1.2"}, "", NULL, NULL,
		""},
	{{"WPOOL_SLOT=0", "WPOOL_WORKERS=4", "WPOOL_WORKER="}, "", NULL, NULL,
		"WPOOL_SLOT" NO_VARIABLE "\nWPOOL_WORKERS" NO_VARIABLE "\n"},
	/* the commands that ask a supervisor need it beside a file */
	{{"WPOOL_CONTROL_SOCKET=/s"}, "control: {socket: /s}\n", NULL, NULL, ""},
};

START_TEST(variables_without_effect_cause_warnings)
{
	const struct variable_case *c = &variable_cases[_i];
	struct config_flags flags = {.broker = c->broker, .log_level = c->log_level};
	char yaml[500];
	if (c->yaml) {
		snprintf(yaml, sizeof yaml, "%spools: [{queue: q, command: w}]\n", c->yaml);
		loading_write(text_from(yaml));
		flags.file = LOADING_FILE;
	}
	loading_load(&flags, c->environment);
	ck_assert_ptr_null(strstr(loaded.problems, "secret"));
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
	ck_assert_str_eq(loaded.problems, c->warnings);
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

#define ACK_TIMEOUT_WARNING                                                                        \
	": a broker takes back what is not acked for 30min (its consumer_timeout, by default), "   \
	"and the time before a task begins counts: a task that its worker has not accepted "       \
	"(status -2) would be begun again and again\n"
#define CHANNEL_WARNING " places, but one channel holds 65535 messages: the others stay empty\n"

static const struct {
	const char *pool, *warnings;
} setting_cases[] = {
	{"workers: 6, concurrency: 10000", ""},
	{"workers: 9362, concurrency: 7", ""},
	{"workers: 1, concurrency: 10000, prefetch: 10000", ""},
	{"workers: 7, concurrency: 9363",
		"pools[0].concurrency: 7 workers with 9363 tasks each are 65541" CHANNEL_WARNING},
	{"workers: {min: 1, max: 10000}, concurrency: 10000",
		"pools[0].concurrency: 10000 workers with 10000 tasks each are "
		"100000000" CHANNEL_WARNING},
	{"workers: {min: 1, max: 4}, concurrency: 100, prefetch: 399",
		"pools[0].prefetch: 399 messages are fewer than the 400 places of 4 workers with a "
		"concurrency of 100: the others stay empty\n"},
	{"workers: {min: 1, max: 4}, concurrency: 100, prefetch: 400", ""},
	{"workers: 4, prefetch: 3", ""},
	{"workers: 10000, pipeline: 64", ""},
	{"workers: 7, concurrency: 10000, prefetch: 65535",
		"pools[0].concurrency: 7 workers with 10000 tasks each are 70000" CHANNEL_WARNING},
	{"limits: {soft: 30min, hard: 40min}", "pools[0].limits.soft" ACK_TIMEOUT_WARNING
					       "pools[0].limits.hard" ACK_TIMEOUT_WARNING},
	{"limits: {hard: 1799s}", ""},
	{"limits: {soft: 60s, hard: 1min}",
		"pools[0].limits.soft is not below limits.hard, which ends the worker before\n"},
	{"limits: {soft: 59s, hard: 1min}", ""},
};

START_TEST(settings_that_do_not_hold_cause_warnings)
{
	char yaml[200];
	snprintf(yaml, sizeof yaml, "pools: [{queue: q, command: w, %s}]", setting_cases[_i].pool);
	loading_write(text_from(yaml));
	loading_load(&(struct config_flags){.file = LOADING_FILE}, NULL);
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
	ck_assert_str_eq(loaded.problems, setting_cases[_i].warnings);
}
END_TEST

/* The pool's own setting, the defaults', and the pool where neither has it. */
static const struct {
	const char *yaml, *lines;
} line_cases[] = {
	{"pools:\n- queue: q\n  command: w\n  limits:\n    soft: 30min\n    hard: 40min\n", " 5 6"},
	{"defaults:\n  limits: {hard: 40min}\npools:\n- {queue: q, command: w}\n"
	 "- queue: r\n  command: w\n  limits: {hard: 41min}\n",
		" 2 7"},
	{"pools:\n- {queue: q, command: w}\n- queue: r\n  command: w\n  limits: {soft: 31min}\n",
		" 5 5"},
	{"pools:\n- queue: q\n  command: w\n  workers: 7\n  concurrency: 9363\n", " 5"},
	{"pools:\n- queue: q\n  command: w\n  workers: 4\n  concurrency: 2\n  prefetch: 7\n", " 6"},
	{"pools:\n- queue: a\n  command: w\n  retry:\n    dead_letter: b\n- {queue: b, command: w}\n",
		" 5"},
	{"pools:\n- queue: a\n  command: w\n- {queue: a.dead, command: w}\n", " 2"},
};

START_TEST(warnings_have_the_line_of_their_setting)
{
	loading_write(text_from(line_cases[_i].yaml));
	loading_load(&(struct config_flags){.file = LOADING_FILE}, NULL);
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
	ck_assert_msg(strcmp(loaded.lines, line_cases[_i].lines) == 0, "%s: %s", loaded.lines,
		loaded.problems);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("config/warnings");
	TCase *tcase = tcase_create("warnings");
	tcase_add_checked_fixture(tcase, loading_set_up, loading_tear_down);
	tcase_add_loop_test(tcase, variables_without_effect_cause_warnings, 0,
		sizeof variable_cases / sizeof *variable_cases);
	tcase_add_test(tcase, dead_letters_to_queue_of_other_pool_cause_warning);
	tcase_add_loop_test(tcase, warnings_have_the_line_of_their_setting, 0,
		sizeof line_cases / sizeof *line_cases);
	tcase_add_loop_test(tcase, settings_that_do_not_hold_cause_warnings, 0,
		sizeof setting_cases / sizeof *setting_cases);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
