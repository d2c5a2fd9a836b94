/* Workers are killed at random, and half of the tasks are accepted by their workers: each of these
 * begins once at most, and ends as done or as a dead letter. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"
#include "harness/begins.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define WORKERS  8
#define LOAD     400
#define WORK_MS  3
#define ATTEMPTS 1000 /* no task may be given up: every victim is innocent */

static const char *const delays[] = {"100ms", NULL};

static struct proc *serve(void)
{
	struct proc *proc = fault_serve("workers: %d, pipeline: 4, properties: true, %s, "
					"retry: {attempts: %d, delay: [100ms]}",
		WORKERS, begins_setting(), ATTEMPTS);
	watch_expect_children(proc_pid(proc), "echo", WORKERS);
	return proc;
}

static void kill_one(pid_t supervisor)
{
	pid_t workers[WORKERS];
	int count = watch_children(supervisor, "echo", workers, WORKERS);
	if (count > 0)
		kill(workers[fault_random_below(count)], SIGKILL);
}

/* Every second one is accepted (the fates "da"). Return how many of those began. */
static long expect_single_begins(const struct account *account)
{
	struct begins begins = {0};
	long posted = account_posted(account), accepted = 0;
	unsigned char *counts = calloc((size_t)posted + 1, 1);
	ck_assert_ptr_nonnull(counts);
	begins_read(&begins);
	for (int i = 0; i < begins.count; i++) {
		long number = atol(begins.all[i].id);
		ck_assert_int_lt(number, posted);
		if (number % 2 == 0)
			continue;
		accepted++;
		ck_assert_msg(counts[number]++ == 0, "accepted task %ld began twice", number);
	}
	begins_release(&begins);
	free(counts);
	return accepted;
}

static void run(struct tally *tally)
{
	struct proc *proc = serve();
	struct account *account = account_new(delays);
	tally->unit = "kills";
	while (fault_next(tally)) {
		account_fill(account, LOAD, "da", WORK_MS);
		account_await_progress(account, 1 + fault_random_below(50));
		kill_one(proc_pid(proc));
	}
	account_await_settled(account);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	snprintf(tally->note, sizeof tally->note, "%ld accepted tasks began, each once",
		expect_single_begins(account));
	ck_assert_int_le(account_close(account, tally), tally->trials);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 36, .name = "accepted: worker killed", .few = 50, .full = 2000, .run = run});
}
