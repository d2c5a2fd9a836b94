/* A Celery application under Celery's own worker and under wpool: the same script calls the same
 * tasks, and what came of each is compared. The tasks are those of tests/celery/orders.py, the rows
 * those of tests/celery/rows.py. */
#include "harness/celery.h"
#include "harness/deadline.h"
#include "system/system.h"

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
} runs[] = {
	{{"calls", "results", "canvas"}, NULL, 2},
	{{"later", "revokes"}, NULL, 2},
	{{"limits", "losses"}, NULL, 2},
	{{"calls"}, "rpc://", 2},
	{{"protocol-1"}, NULL, 1},
};
enum { RUNS = sizeof runs / sizeof *runs };

START_TEST(rows_are_as_under_celery)
{
	const struct run *run = &runs[_i];
	celery_start_redis();
	struct celery_side celery = celery_side("celery", run->backend);
	struct celery_side wpool = celery_side("wpool", run->backend);
	celery.protocol = wpool.protocol = run->protocol;
	celery_start_worker(&celery, NULL);
	struct proc *script = celery_start_script(&celery, "rows.py", run->groups);
	struct proc *serve = celery_start_wpool(&wpool, "-l, INFO", "");
	char *of_wpool = celery_run_script(&wpool, "rows.py", run->groups);
	ck_assert_int_eq(proc_wait(script), 0);
	expect_same(proc_stdout(script), of_wpool);
	fixture_stop(serve);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("celery", {rows_are_as_under_celery, RUNS});
}
