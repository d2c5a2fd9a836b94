/* Supervisors are suspended under load for much longer than any limit, alone or with their workers,
 * like a frozen container. When they resume, no worker is killed for that time, and no attempt is
 * counted. A suspended process costs nothing, so many run at once, each with its own pool and its
 * own moment. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>

#define SUPERVISORS 14 /* at most at once */
#define WORKERS     4
#define PREFETCH    8
#define LOAD        24
#define WORK_MS     300
#define FEW_MS      6000   /* the hard limit is 2 s */
#define FULL_MS     120000 /* and the broker has long hung up */

static const char *const delays[] = {"100ms", NULL};

struct subject {
	struct account_place at;
	struct account *account;
	struct proc *proc;
	pid_t workers[WORKERS];
	bool with_workers; /* they are stopped, too */
	int stops;
	int64_t end; /* of its suspension */
};

static struct proc *serve(const struct account_place *at)
{
	char *pool = scratch_text("- {queue: %s, command: [env, \"WITNESS=%s\", \"%s\"], workers: "
				  "%d, pipeline: 2,\n   prefetch: %d, limits: {hard: 2s, grace: "
				  "1s}, retry: {attempts: 1, delay: [100ms]}}\n",
		at->queue, at->witness, fixture_built("workers/echo"), WORKERS, PREFETCH);
	struct proc *proc = fixture_serve_pools(pool);
	client_expect_consumers(fixture.client, at->queue, 1);
	free(pool);
	return proc;
}

/* One attempt each: a false kill would be a dead letter, which the account does not forgive. */
static struct subject start(int number)
{
	struct subject subject = {.at = account_place_open(number, CLIENT_QUORUM)};
	subject.account = account_new_at(&subject.at, delays);
	subject.proc = serve(&subject.at);
	watch_expect_children(proc_pid(subject.proc), "echo", WORKERS);
	watch_children(proc_pid(subject.proc), "echo", subject.workers, WORKERS);
	return subject;
}

static void signal_workers(const struct subject *subject, int signal)
{
	for (int i = 0; subject->with_workers && i < WORKERS; i++)
		kill(subject->workers[i], signal);
}

static void suspend(struct subject *subject, long trial, int time_ms)
{
	account_post(subject->account, LOAD, "dr", WORK_MS);
	account_await_progress(subject->account, 1 + fault_random_below(LOAD / 4));
	subject->with_workers = trial % 2;
	signal_workers(subject, SIGSTOP);
	proc_signal(subject->proc, SIGSTOP);
	subject->stops++;
	subject->end = deadline_in(time_ms);
}

/* This wait is the fault under test; no event ends it. */
static void resume(struct subject *subject)
{
	poll(NULL, 0, deadline_left(subject->end));
	proc_signal(subject->proc, SIGCONT);
	signal_workers(subject, SIGCONT);
}

static void expect_same_workers(const struct subject *subject)
{
	ck_assert_int_eq(watch_children(proc_pid(subject->proc), "echo", NULL, 0), WORKERS);
	for (int i = 0; i < WORKERS; i++)
		ck_assert_int_eq(kill(subject->workers[i], 0), 0);
}

static void end(struct subject *subject, struct tally *tally)
{
	expect_same_workers(subject);
	ck_assert_int_ge(
		proc_count_logged(subject->proc, "wpool was not running for "), subject->stops);
	fixture_stop(subject->proc);
	watch_note_turns(subject->proc, tally);
	account_close(subject->account, tally);
	account_free(subject->account);
	account_place_close(&subject->at);
}

/* All of them once, each from its own moment on; fewer where no more trials are wanted. */
static void suspend_all(struct subject subjects[], int count, struct tally *tally, int time_ms)
{
	int stopped = 0;
	while (stopped < count && fault_next(tally)) {
		suspend(&subjects[stopped], tally->trials, time_ms);
		stopped++;
	}
	for (int i = 0; i < stopped; i++)
		resume(&subjects[i]);
	for (int i = 0; i < stopped; i++)
		account_await_settled(subjects[i].account);
}

static void run(struct tally *tally)
{
	static struct subject subjects[SUPERVISORS];
	int count = fault_trials() < SUPERVISORS ? (int)fault_trials() : SUPERVISORS;
	int time_ms = getenv("FULL") && *getenv("FULL") ? FULL_MS : FEW_MS;
	tally->unit = "stops";
	tally->suspends = true;
	for (int i = 0; i < count; i++)
		subjects[i] = start(i);
	for (long before = -1; before < tally->trials;) {
		before = tally->trials;
		suspend_all(subjects, count, tally, time_ms);
	}
	for (int i = 0; i < count; i++)
		end(&subjects[i], tally);
	/* Unacked messages are redelivered, and each reply is published at most once more. */
	ck_assert_int_le(tally->repeats, 2 * tally->trials * PREFETCH);
	snprintf(tally->note, sizeof tally->note, "%d s each, %d at once; no worker was killed",
		time_ms / 1000, count);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 17, .name = "suspension", .few = 8, .full = 100, .run = run});
}
