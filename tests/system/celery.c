/* A Celery application under Celery's own worker and under wpool: the same script calls the same
 * tasks, and what came of each is compared. The tasks are those of tests/celery/orders.py, the rows
 * those of tests/celery/rows.py. */
#include "harness/celery.h"
#include "system/system.h"

#include <signal.h>
#include <string.h>

/* The lines of the two must be the same. Both move in. */
static void expect_same(char *celery, char *wpool)
{
	char *rest_celery, *rest_wpool;
	char *line = strtok_r(celery, "\n", &rest_celery);
	char *other = strtok_r(wpool, "\n", &rest_wpool);
	ck_assert_ptr_nonnull(line);
	for (; line; line = strtok_r(NULL, "\n", &rest_celery),
		     other = strtok_r(NULL, "\n", &rest_wpool))
		ck_assert_str_eq(other ? other : "no line", line);
	ck_assert_ptr_null(other);
	free(celery);
	free(wpool);
}

static const struct run {
	const char *groups[4]; /* of rows.py */
	const char *backend;
	int protocol;
	bool is_preloaded;
} runs[] = {
	{{"calls", "results", "canvas"}, NULL, 2, false},
	{{"later", "revokes"}, NULL, 2, false},
	{{"limits", "losses"}, NULL, 2, true},
	{{"calls", "results-rpc", "canvas-rpc"}, "rpc://", 2, true},
	{{"protocol-1"}, NULL, 1, false},
};
enum { RUNS = sizeof runs / sizeof *runs };

START_TEST(rows_are_as_under_celery)
{
	const struct run *run = &runs[_i];
	celery_start_redis();
	struct celery_side celery = celery_side("celery", run->backend);
	struct celery_side wpool = celery_side("wpool", run->backend);
	celery.protocol = wpool.protocol = run->protocol;
	wpool.is_preloaded = run->is_preloaded;
	celery_start_worker(&celery, NULL);
	struct proc *script = celery_start_script(&celery, "rows.py", run->groups);
	struct proc *serve = celery_start_wpool(&wpool, "-l, INFO", "");
	char *of_wpool = celery_run_script(&wpool, "rows.py", run->groups);
	ck_assert_int_eq(proc_wait(script), 0);
	expect_same(proc_stdout(script), of_wpool);
	fixture_stop(serve);
	celery_side_release(&celery);
	celery_side_release(&wpool);
}
END_TEST

/* The lines of checks.py for these are the same. */
static const struct check {
	const char *name, *option; /* of both */
	const char *more;          /* a variable; NULL: none */
	bool is_printed;           /* wpool has the configuration that the adapter prints */
} checks[] = {
	{"events", "-E", NULL, false},
	{"no_events_by_default", "-Ofair", NULL, false},
	{"inspect", "-E", NULL, false},
	{"django", "-Ofair", "DJANGO_SETTINGS_MODULE=site_settings", false},
	{"replaced_after_tasks", "-c4", "ORDERS_SETTINGS={\"worker_max_tasks_per_child\": 5}",
		true},
	{"replaced_if_it_grows", "-c4", "ORDERS_SETTINGS={\"worker_max_memory_per_child\": 200000}",
		true},
	{"limits_of_the_application", "-c4", "ORDERS_SETTINGS={\"task_time_limit\": 1}", true},
	{"limits_of_the_application", "-c4",
		"ORDERS_SETTINGS={\"task_time_limit\": 20, \"task_soft_time_limit\": 0.5}", true},
};
enum { CHECKS = sizeof checks / sizeof *checks };

START_TEST(answers_are_as_under_celery)
{
	const struct check *check = &checks[_i];
	const char *const name[] = {check->name, NULL};
	const char *const more[] = {check->more, NULL};
	celery_start_redis();
	struct celery_side celery = celery_side("celery", NULL);
	struct celery_side wpool = celery_side("wpool", NULL);
	celery.more = wpool.more = more;
	celery_start_worker(&celery, (const char *const[]){check->option, NULL});
	struct proc *script = celery_start_script(&celery, "checks.py", name);
	char *text = NULL;
	struct proc *serve =
		check->is_printed
			? celery_start_printed(
				  &wpool, (const char *const[]){check->option, NULL}, &text)
			: celery_start_wpool(&wpool, check->option, CELERY_NEEDS ", workers: 1");
	char *of_wpool = celery_run_script(&wpool, "checks.py", name);
	free(text);
	if (proc_wait(script) != 0)
		fixture_fail(proc_stderr(script));
	/* The names of the queues are in the answers. */
	char *of_celery = proc_stdout(script);
	for (char *at; (at = strstr(of_celery, celery.queue)) != NULL;)
		memmove(at, at + strlen(celery.queue), strlen(at + strlen(celery.queue)) + 1);
	for (char *at; (at = strstr(of_wpool, wpool.queue)) != NULL;)
		memmove(at, at + strlen(wpool.queue), strlen(at + strlen(wpool.queue)) + 1);
	expect_same(of_celery, of_wpool);
	fixture_stop(serve);
	celery_side_release(&celery);
	celery_side_release(&wpool);
}
END_TEST

/* The lines "signal NAME" of a trail. is_all: with those whose place is chance under Celery: of its
 * second process, and of a task that its main process receives while the second one works. */
static char *signals_of(const struct celery_side *side, bool is_all)
{
	char *trail = scratch_read(side->trail, NULL), *rest;
	char *signals = scratch_text("%s", "");
	for (char *line = strtok_r(trail, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, "signal ", 7) != 0 ||
			(!is_all && (strstr(line, "worker_process_") || strstr(line, "received"))))
			continue;
		char *more = scratch_text("%s%s\n", signals, line + 7);
		free(signals);
		signals = more;
	}
	free(trail);
	return signals;
}

START_TEST(signals_come_in_celerys_order)
{
	const char *const name[] = {"signals_of_tasks", NULL};
	const char *const more[] = {"ORDERS_SIGNALS=yes", NULL};
	celery_start_redis();
	struct celery_side celery = celery_side("celery", NULL);
	struct celery_side wpool = celery_side("wpool", NULL);
	celery.more = wpool.more = more;
	wpool.is_preloaded = _i;
	struct proc *worker =
		celery_start_worker(&celery, (const char *const[]){"--concurrency", "1", NULL});
	free(celery_run_script(&celery, "checks.py", name));
	proc_signal(worker, SIGTERM);
	ck_assert_int_eq(proc_wait(worker), 0);
	struct proc *serve = celery_start_wpool(&wpool, "", CELERY_NEEDS ", workers: 1");
	free(celery_run_script(&wpool, "checks.py", name));
	fixture_stop(serve);
	expect_same(signals_of(&celery, false), signals_of(&wpool, false));
	char *all = signals_of(&wpool, true);
	ck_assert_ptr_nonnull(
		strstr(all, "task_received\ntask_prerun\ntask_success\ntask_postrun\n"));
	ck_assert_ptr_nonnull(
		strstr(all, "task_received\ntask_prerun\ntask_failure\ntask_postrun\n"));
	ck_assert_ptr_nonnull(
		strstr(all, "task_received\ntask_prerun\ntask_retry\ntask_postrun\n"));
	ck_assert_ptr_nonnull(
		strstr(all, "celeryd_after_setup\nworker_process_init\nworker_ready\n"));
	ck_assert_ptr_nonnull(
		strstr(all, "worker_shutting_down\nworker_process_shutdown\nworker_shutdown\n"));
	free(all);
	celery_side_release(&celery);
	celery_side_release(&wpool);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("celery", {rows_are_as_under_celery, RUNS},
		{answers_are_as_under_celery, CHECKS}, {signals_come_in_celerys_order, 2});
}
