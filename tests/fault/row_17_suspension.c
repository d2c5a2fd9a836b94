/* The supervisor is stopped in the middle of its work for much longer than any limit, alone or with
 * its workers, as a frozen container is. When it goes on, nobody is killed for what nobody could
 * do, and no attempt is counted. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>

#define WORKERS 4
#define LOAD    24
#define WORK_MS 300
#define FEW_MS  6000   /* the hard limit is 2 s */
#define FULL_MS 120000 /* and the broker has long hung up */

static const char *const delays[] = {"100ms", NULL};

static struct proc *serve(void)
{
	return fault_serve("workers: %d, pipeline: 2, limits: {hard: 2s, grace: 1s}, "
			   "retry: {attempts: 1, delay: [100ms]}",
		WORKERS);
}

static void signal_workers(const pid_t workers[], int count, int signal)
{
	for (int i = 0; i < count; i++)
		kill(workers[i], signal);
}

/* Nothing tells when a stopped process has been stopped for long enough: this wait is the fault. */
static void suspend(struct proc *proc, bool with_workers)
{
	pid_t workers[WORKERS];
	int count = with_workers ? watch_children(proc_pid(proc), "echo", workers, WORKERS) : 0;
	signal_workers(workers, count, SIGSTOP);
	proc_signal(proc, SIGSTOP);
	poll(NULL, 0, getenv("FULL") && *getenv("FULL") ? FULL_MS : FEW_MS);
	proc_signal(proc, SIGCONT);
	signal_workers(workers, count, SIGCONT);
}

/* One attempt each: a false kill would be a dead letter, which the account does not forgive. */
static void run(struct tally *tally)
{
	struct account *account = account_new(delays);
	struct proc *proc = serve();
	pid_t before[WORKERS], after[WORKERS];
	tally->unit = "stops";
	watch_expect_children(proc_pid(proc), "echo", WORKERS);
	watch_children(proc_pid(proc), "echo", before, WORKERS);
	while (fault_next(tally)) {
		account_post(account, LOAD, "dr", WORK_MS);
		account_await_progress(account, 1 + fault_random_below(LOAD / 4));
		suspend(proc, tally->trials % 2);
		account_await_settled(account);
	}
	ck_assert_int_eq(watch_children(proc_pid(proc), "echo", after, WORKERS), WORKERS);
	for (int i = 0; i < WORKERS; i++)
		ck_assert_int_eq(kill(before[i], 0), 0);
	site_stop(proc);
	watch_note_turns(proc, tally);
	ck_assert_int_le(account_close(account, tally), tally->trials * LOAD);
	snprintf(tally->note, sizeof tally->note, "no worker was killed");
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 17, .name = "suspension", .few = 3, .full = 100, .run = run});
}
