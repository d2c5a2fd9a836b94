/* Workers are killed at random in the middle of their tasks, 64 of them under load. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#include <signal.h>
#include <string.h>

#define WORKERS  64
#define KILLS    16 /* at once */
#define LOAD     200
#define WORK_MS  3
#define ATTEMPTS 1000 /* no task may be given up: every victim is innocent */
#define SPREAD_FD                                                                                  \
	4 /* a worker that is just being started has more descriptors than a settled one */

static const char *const delays[] = {"100ms", NULL};

static struct proc *serve(void)
{
	struct proc *proc =
		fault_serve("workers: %d, pipeline: 4, retry: {attempts: %d, delay: [100ms]}",
			WORKERS, ATTEMPTS);
	watch_expect_children(proc_pid(proc), "echo", WORKERS);
	return proc;
}

/* The workers die while they work, because the queue is never empty meanwhile. Return whether more
 * kills are wanted. */
static bool kill_some(struct tally *tally, pid_t supervisor)
{
	pid_t workers[WORKERS];
	int count = watch_children(supervisor, "echo", workers, WORKERS);
	for (int i = 0; i < KILLS && count > 0; i++) {
		if (!fault_next(tally))
			return false;
		int victim = (int)fault_random_below(count);
		kill(workers[victim], SIGKILL);
		workers[victim] = workers[--count];
	}
	return true;
}

static void warm_up(struct account *account)
{
	account_post(account, 4 * LOAD, "dr", WORK_MS);
	account_await_settled(account);
}

static void run(struct tally *tally)
{
	struct proc *proc = serve();
	struct account *account = account_new(delays);
	pid_t pid = proc_pid(proc);
	tally->unit = "kills";
	warm_up(account);
	long memory = watch_memory_kib(pid);
	int descriptors = watch_descriptors(pid);
	do {
		account_await_backlog(4 * LOAD);
		account_post(account, LOAD, "dddr", WORK_MS);
	} while (kill_some(tally, pid));
	account_await_settled(account);
	watch_expect_children(pid, "echo", WORKERS);
	tally->drift_kib = watch_memory_kib(pid) - memory;
	ck_assert_int_le(watch_descriptors(pid), descriptors + SPREAD_FD);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	long repeats = account_close(account, tally);
	ck_assert_int_le(repeats, tally->trials);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){.row = 1,
		.name = "worker killed in mid-task",
		.few = 200,
		.full = 10000,
		.run = run});
}
