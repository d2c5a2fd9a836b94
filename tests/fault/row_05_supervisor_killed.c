/* The supervisor is killed under load: in half of the trials by SIGKILL at a random moment, in the
 * others by itself at a labelled point (supervisor/base/crash_point.h). Its workers die with it,
 * the broker redelivers unacked messages, and the next supervisor continues. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#include <signal.h>
#include <stdio.h>

#define LOAD     300 /* in the queue at each start, about */
#define PREFETCH 32
#define WORKERS  4
#define PASSES   20 /* the crash comes at one of the first ones of its point */

static const char *const delays[] = {"100ms", NULL};

/* Each turn of the loop passes the flushes; the first turns log in. */
static const struct point {
	const char *label;
	int from;
} points[] = {
	{"delivery-taken", 1},
	{"answer-read", 1},
	{"copy-published", 1},
	{"before-flush", 25},
	{"acks-flushed", 25},
	{"copies-flushed", 25},
	{"confirm-received", 1},
	{"confirm-counted", 1},
	{"ack-appended", 1},
};
#define POINTS (long)(sizeof points / sizeof *points)

static struct proc *serve(bool is_to_crash)
{
	const struct point *point = &points[fault_random_below(POINTS)];
	char *pool = scratch_text("- {queue: %s, command: [\"%s\"], workers: %d, pipeline: 4,\n"
				  "   prefetch: %d, retry: {attempts: 3, delay: [100ms]}}\n",
		fixture.queue, fixture_built("workers/echo"), WORKERS, PREFETCH);
	char *crash = scratch_text(
		"WPOOL_CRASH_AT=%s:%ld", point->label, point->from + fault_random_below(PASSES));
	const char *environment[] = {crash, NULL};
	struct proc *proc = fixture_serve_program(
		is_to_crash ? "wpool-crash" : "wpool", is_to_crash ? environment : NULL, pool);
	free(crash);
	free(pool);
	return proc;
}

struct outcome {
	double longest_ms; /* until the last worker of a killed supervisor was gone */
	long max;          /* repeats after one kill */
};

static void expect_no_orphan(const pid_t workers[], int count, struct outcome *outcome)
{
	int64_t begun = deadline_now_ms();
	for (int i = 0; i < count; i++)
		proc_expect_gone(workers[i]);
	double took = (double)(deadline_now_ms() - begun);
	if (took > outcome->longest_ms)
		outcome->longest_ms = took;
}

static void kill_at_random(struct account *account, struct outcome *outcome)
{
	pid_t workers[WORKERS];
	struct proc *proc = serve(false);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	account_await_progress(account, 1 + fault_random_below(100));
	int count = watch_children(proc_pid(proc), "echo", workers, WORKERS);
	proc_signal(proc, SIGKILL);
	ck_assert_int_eq(proc_wait(proc), 128 + SIGKILL);
	expect_no_orphan(workers, count, outcome);
	fixture_free_program(proc);
}

static void crash_at_point(void)
{
	struct proc *proc = serve(true);
	ck_assert_int_eq(proc_wait(proc), 128 + SIGKILL);
	fixture_free_program(proc);
}

static void settle_all(struct account *account, struct tally *tally)
{
	struct proc *proc = serve(false);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	account_await_settled(account);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	fixture_free_program(proc);
}

#define KILLS_A_PART 10 /* then the account is closed, and the repeats are counted */

static void run(struct tally *tally)
{
	struct account *account = account_new(delays);
	struct outcome outcome = {0};
	bool goes_on = true;
	tally->unit = "kills";
	while (goes_on) {
		int kills = 0;
		while (kills < KILLS_A_PART && (goes_on = fault_next(tally))) {
			account_fill(account, LOAD, "dtrx", 0);
			if (kills++ % 2)
				crash_at_point();
			else
				kill_at_random(account, &outcome);
		}
		settle_all(account, tally);
		long repeats = account_close(account, tally);
		ck_assert_int_le(repeats, kills * PREFETCH);
		if (kills && repeats / kills > outcome.max)
			outcome.max = repeats / kills;
	}
	snprintf(tally->note, sizeof tally->note,
		"at most %ld repeats a kill in the mean of %d (prefetch %d); orphans gone in %.0f ms",
		outcome.max, KILLS_A_PART, PREFETCH, outcome.longest_ms);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 5, .name = "supervisor killed", .few = 40, .full = 1000, .run = run});
}
