/* How long processes that compete for one processor waited for it. */
#include "os/proc_waited.h"

#include "unit/unit.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* More than the process itself may have waited, which does not compute. */
#define MUCH (20 * MTIME_MS)

/* For this process and its children. */
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

static void die_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void compute(void)
{
	for (volatile unsigned i = 0;; i++)
		;
}

static void *compute_in_thread(void *unused)
{
	compute();
	return unused;
}

static void compute_in_child(void)
{
	if (fork() == 0) {
		die_with_parent();
		compute();
	}
	pause();
}

static void compute_in_grandchild(void)
{
	if (fork() == 0) {
		die_with_parent();
		compute_in_child();
	}
	pause();
}

static void compute_beside(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, compute_in_thread, NULL);
	pause();
}

static pid_t start(void (*run)(void))
{
	pid_t pid = fork();
	if (pid == 0) {
		die_with_parent();
		run();
	}
	ck_assert_int_gt(pid, 0);
	return pid;
}

static void end(pid_t pid)
{
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* The test's deadline ends it if the figure does not grow. */
START_TEST(waits_of_threads_and_descendants_count)
{
	static void (*const runs[])(void) = {
		compute, compute_beside, compute_in_child, compute_in_grandchild};
	use_one_processor();
	pid_t other = start(compute);
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		pid_t pid = start(runs[i]);
		while (proc_waited(pid) < MUCH)
			sched_yield();
		end(pid);
	}
	end(other);
}
END_TEST

START_TEST(of_a_process_that_is_gone_nothing_is_known)
{
	use_one_processor();
	pid_t other = start(compute), pid = start(compute);
	while (proc_waited(pid) < MUCH)
		sched_yield();
	end(pid);
	ck_assert_int_eq(proc_waited(pid), 0);
	end(other);
}
END_TEST

static Suite *proc_waited_suite(void)
{
	Suite *suite = suite_create("os/proc_waited");
	UNIT_CASE(suite, "waited", waits_of_threads_and_descendants_count,
		of_a_process_that_is_gone_nothing_is_known);
	return suite;
}

UNIT_MAIN(proc_waited_suite)
