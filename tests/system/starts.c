/* Workers that compute while they start, on one processor: they do not fail together, and a pool
 * works with those that are ready. */
#include "harness/control.h"
#include "system/system.h"

#include <jansson.h>
#include <sched.h>

#define WORKERS 12

/* For this test, and all that it starts from now on. */
static void use_one_processor(void)
{
	cpu_set_t own, one;
	ck_assert_int_eq(sched_getaffinity(0, sizeof own, &own), 0);
	for (size_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &own)) {
			CPU_ZERO(&one);
			CPU_SET(i, &one);
		}
	ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
}

/* Return the path of a program that computes while the condition holds, makes the folder "first",
 * and then is an echo worker. */
static const char *worker_that_computes(const char *condition)
{
	char *path = scratch_text("%s/worker.py", fixture.folder);
	scratch_write(path, scratch_text("import os, sys, time\n"
					 "while %s:\n"
					 "    pass\n"
					 "os.makedirs('%s/first', exist_ok=True)\n"
					 "os.execv(sys.argv[1], sys.argv[1:])\n",
				    condition, fixture.folder));
	return path;
}

static struct proc *serve_workers(const char *program, const char *boot_limit)
{
	return fixture_serve_program("wpool", NULL,
		scratch_text("- {queue: %s, workers: %d, limits: {boot: %s},\n"
			     "   command: [/usr/bin/python3, %s, %s]}\n",
			fixture.queue, WORKERS, boot_limit, program,
			fixture_built("workers/echo")));
}

/* Together they need nearly twice the boot limit, each alone a small part of it. */
START_TEST(slow_starts_on_one_processor_do_not_fail_together)
{
	use_one_processor();
	struct proc *serve = serve_workers(worker_that_computes("time.process_time() < 0.3"), "2s");
	proc_expect(serve, scratch_text("%d workers ready: ", WORKERS));
	ck_assert_int_eq(proc_count_logged(serve, "boot limit"), 0);
	fixture_stop(serve);
}
END_TEST

static json_int_t count_workers(const char *state)
{
	const json_t *pools = control_get_json("/v1/pools");
	return control_number(control_member(pools, "pools", 0), "workers", state);
}

/* The first is ready at once. The next one keeps the processor until it is released, and the others
 * are not started. */
START_TEST(a_pool_works_with_the_workers_that_are_ready)
{
	use_one_processor();
	const char *program = worker_that_computes(
		scratch_text("os.path.exists('%s/first') and not os.path.exists('%s/release')",
			fixture.folder, fixture.folder));
	struct proc *serve = serve_workers(program, "10min");
	proc_expect(serve, "control socket: ");
	ck_assert_int_gt(fixture_worker_pid(), 0);
	ck_assert_int_gt(count_workers("waiting"), 0);
	ck_assert_int_lt(count_workers("ready"), WORKERS);
	scratch_write(scratch_text("%s/release", fixture.folder), "");
	proc_expect(serve, scratch_text("%d workers ready: ", WORKERS));
	fixture_stop(serve);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("starts", {slow_starts_on_one_processor_do_not_fail_together, 1},
		{a_pool_works_with_the_workers_that_are_ready, 1});
}
