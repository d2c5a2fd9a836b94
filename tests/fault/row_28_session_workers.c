/* Workers are killed at random under messages with 1,000 keys: order holds, and no session waits
 * for the dead for longer than its delay. */
#include "fault/account.h"
#include "fault/keyed.h"
#include "fault/watch.h"

#include <signal.h>

#define KEYS     1000
#define WORKERS  64
#define KILLS    16 /* at once */
#define LOAD     400
#define BACKLOG  1600
#define WORK_MS  3
#define SETTINGS "workers: 64, pipeline: 4, retry: {attempts: 1000, delay: [100ms]}"

/* The workers die while they work, because the queue is never empty meanwhile. Return whether more
 * kills are wanted. */
static bool kill_some(struct tally *tally, pid_t supervisor)
{
	pid_t workers[WORKERS];
	int count = watch_children(supervisor, "keyed", workers, WORKERS);
	for (int i = 0; i < KILLS && count > 0; i++) {
		if (!fault_next(tally))
			return false;
		int victim = (int)fault_random_below(count);
		kill(workers[victim], SIGKILL);
		workers[victim] = workers[--count];
	}
	return true;
}

static void run(struct tally *tally)
{
	struct keyed *keyed = keyed_new(KEYS);
	struct proc *proc = keyed_serve(SETTINGS, "takeover_delay: none");
	pid_t pid = proc_pid(proc);
	tally->unit = "kills";
	keyed_await_consumer();
	watch_expect_children(pid, "keyed", WORKERS);
	keyed_post(keyed, BACKLOG, "df", WORK_MS);
	keyed_await_settled();
	long memory = watch_memory_kib(pid);
	do {
		account_await_backlog(BACKLOG);
		keyed_post(keyed, LOAD, "dddf", WORK_MS);
	} while (kill_some(tally, pid));
	keyed_await_settled();
	watch_expect_children(pid, "keyed", WORKERS);
	tally->drift_kib = watch_memory_kib(pid) - memory;
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	long repeats = keyed_close(keyed, tally);
	ck_assert_int_le(repeats, tally->trials);
	keyed_free(keyed);
}

int main(void)
{
	return fault_main(&(struct fault){.row = 28,
		.name = "worker of a session killed",
		.few = 200,
		.full = 10000,
		.run = run});
}
