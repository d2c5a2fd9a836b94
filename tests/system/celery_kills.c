/* 40 tasks of a Celery application under wpool, while processes are killed with -9, for the three
 * ways to ack. What Celery loses, and what it runs again: docs/celery.md. */
#include "harness/celery.h"
#include "harness/deadline.h"
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { TASKS = 40, WORKERS = 4, SUPERVISOR_KILLS = 3 };

#define POOL CELERY_NEEDS ", workers: 4, retry: {attempts: 30, delay: [100ms], jitter: 0}"

static const char *const tasks[] = {"counted_early", "counted_late", "counted_safe"};
enum { EARLY, LATE, SAFE, WAYS };

/* The number behind this text of the output; 0 if it is not there. */
static int number(const char *output, const char *text)
{
	const char *at = strstr(output, text);
	return at ? atoi(at + strlen(text)) : 0;
}

/* No task is left without a state, and each state is one that Celery gives, too. */
static int count_failures(const char *output)
{
	int done = number(output, "SUCCESS: ");
	int lost = number(output, "FAILURE billiard.exceptions.WorkerLostError: Worker exited: ");
	ck_assert_msg(done + lost == TASKS, "%s", output);
	return lost;
}

START_TEST(workers_are_killed)
{
	celery_start_redis();
	struct celery_side side = celery_side("wpool", NULL);
	struct proc *serve = celery_start_wpool(&side, "", POOL);
	char *output = celery_run_script(&side, "kills.py", (const char *const[]){tasks[_i], NULL});
	ck_assert_int_gt(proc_count_logged(serve, "worker died"), 0);
	int lost = count_failures(output), again = number(output, "again: ");
	if (_i == SAFE) { /* those that were lost run again */
		ck_assert_msg(lost == 0, "%s", output);
		ck_assert_msg(again > 0, "%s", output);
	} else { /* those that were lost have failed, and none runs twice */
		ck_assert_msg(lost > 0, "%s", output);
		ck_assert_msg(number(output, "begun once: ") == TASKS, "%s", output);
	}
	free(output);
	fixture_stop(serve);
	celery_side_release(&side);
}
END_TEST

static int count_begun(const struct celery_side *side)
{
	int count = 0;
	char *trail = scratch_read(side->trail, NULL);
	for (const char *at = trail; (at = strstr(at, "begun ")) != NULL; at++)
		count++;
	free(trail);
	return count;
}

START_TEST(the_supervisor_is_killed)
{
	celery_start_redis();
	struct celery_side side = celery_side("wpool", NULL);
	struct proc *serve = celery_start_wpool(&side, "", POOL);
	struct proc *script = celery_start_script(
		&side, "kills.py", (const char *const[]){tasks[_i], "supervisor", NULL});
	for (int kill = 0, before = 0; kill < SUPERVISOR_KILLS; kill++) {
		int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
		int wanted = before + WORKERS < TASKS ? before + WORKERS : TASKS;
		while (count_begun(&side) < wanted)
			fixture_poll(deadline, 20, "tasks have begun");
		proc_signal(serve, SIGKILL);
		ck_assert_int_eq(proc_wait(serve), 128 + SIGKILL);
		before = count_begun(&side);
		serve = celery_start_wpool(&side, "", POOL); /* some begin before all are ready */
	}
	if (proc_wait(script) != 0)
		fixture_fail(proc_stderr(script));
	char *output = proc_stdout(script);
	int lost = count_failures(output), again = number(output, "again: ");
	/* Those whose ack had not reached the broker run again. With early acks the others have
	 * failed: Celery leaves them PENDING for ever. */
	ck_assert_msg(_i == EARLY ? lost > 0 : lost == 0, "%s", output);
	/* A worker may go on to its next task while the supervisor dies. */
	ck_assert_msg(lost + again <= SUPERVISOR_KILLS * WORKERS * 2, "%s", output);
	free(output);
	fixture_stop(serve);
	celery_side_release(&side);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN(
		"celery_kills", {workers_are_killed, WAYS}, {the_supervisor_is_killed, WAYS});
}
