/* Workers that break the protocol or misbehave otherwise (tests/workers/evil), one behaviour after
 * the other in random order: each evil task ends as expected, and never as done by a false answer;
 * all good tasks of the same workers are done. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"
#include "harness/bad_worker.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define NEIGHBOURS 6 /* for each evil task */
#define WORKERS    16
#define SHY        64 /* workers where none ever takes a task */
#define WARM       8  /* evil tasks before the memory is measured */
#define DRIFT_MAX  1024
#define AT_ONCE    10 /* evil tasks */

static const char *const delays[] = {"100ms", NULL};

/* A good task that its worker has begun when it exits loses an attempt, nothing else. */
static struct proc *serve(const char *behaviour, int workers, int attempts, const char *hard)
{
	char *pool = scratch_text(
		"- {queue: %s, command: [\"%s\", \"%s\", \"EVIL\"], workers: %d, pipeline: 1,\n"
		"   limits: {hard: %s, grace: 200ms, boot: 1s},\n"
		"   retry: {attempts: %d, delay: [100ms]}}\n",
		fixture.queue, fixture_built("workers/evil"), behaviour, workers, hard, attempts);
	struct proc *proc = fixture_serve_pools(pool);
	free(pool);
	return proc;
}

static void serve_good_workers(struct account *account, struct tally *tally)
{
	char *pool = scratch_text("- {queue: %s, command: [\"%s\"], retry: {delay: [100ms]}}\n",
		fixture.queue, fixture_built("workers/echo"));
	struct proc *proc = fixture_serve_pools(pool);
	account_await_settled(account);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	fixture_free_program(proc);
	free(pool);
}

static void post(struct account *account, int evil)
{
	account_post(account, (long)evil * NEIGHBOURS, "d", 0);
	for (int i = 0; i < evil; i++)
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "EVIL", .reply_to = fixture.replies});
	account_post(account, (long)evil * NEIGHBOURS, "d", 0);
}

/* The dead letters are this many evil tasks, and no good one. */
static void expect_dead(const char *behaviour, long wanted)
{
	long dead = client_ready(fixture.client, fixture.dead);
	ck_assert_msg((dead > 0 ? dead : 0) == wanted, "%s: %ld are dead, not %ld", behaviour, dead,
		wanted);
	for (; wanted > 0; wanted--)
		client_expect(fixture.client, fixture.dead, "EVIL");
}

static void note_drift(const char *behaviour, long kib, struct tally *tally)
{
	ck_assert_msg(kib <= DRIFT_MAX, "%s: %ld KiB of memory more", behaviour, kib);
	if (kib <= tally->drift_kib)
		return;
	tally->drift_kib = kib;
	snprintf(tally->note, sizeof tally->note, "most memory: %s", behaviour);
}

/* The memory of a burst is freed a second or two after it. */
static long calm_memory_kib(const struct proc *proc, long max)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	long memory;
	while ((memory = watch_memory_kib(proc_pid(proc))) > max && deadline_left(deadline) > 0)
		poll(NULL, 0, 100);
	return memory;
}

static void run_working(
	const char *behaviour, int evil, struct account *account, struct tally *tally)
{
	bool is_harmless = bad_worker_is_harmless(behaviour);
	struct proc *proc =
		serve(behaviour, WORKERS, is_harmless ? 20 : 3, is_harmless ? "60s" : "1s");
	post(account, WARM);
	account_await_settled(account);
	long memory = watch_memory_kib(proc_pid(proc));
	for (int left = evil; left > 0; left -= AT_ONCE) { /* floods take their time */
		post(account, left < AT_ONCE ? left : AT_ONCE);
		account_await_settled(account);
	}
	note_drift(behaviour, calm_memory_kib(proc, memory + DRIFT_MAX) - memory, tally);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	fixture_free_program(proc);
	expect_dead(behaviour, is_harmless ? 0 : evil + WARM);
	client_purge(fixture.client, fixture.replies); /* what harmless ones answered */
	account_close(account, tally);
}

/* These workers never work: tasks stay in the queue until another pool does them. (A worker that
 * answers without a task may settle one that is just being sent.) */
static void run_idle(
	const char *behaviour, int starts, struct account *account, struct tally *tally)
{
	struct proc *proc = serve(behaviour, SHY, 1000, "1s");
	int64_t deadline = deadline_in(3 * DEADLINE_DEFAULT_MS);
	account_post(account, (long)starts * NEIGHBOURS, "d", 0);
	while (proc_count_logged(proc, " starting another in ") < starts) {
		ck_assert_msg(deadline_left(deadline) > 0, "%s: too few starts", behaviour);
		poll(NULL, 0, 100);
	}
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	fixture_free_program(proc);
	expect_dead(behaviour, 0);
	serve_good_workers(account, tally);
	account_close(account, tally);
}

static void shuffle(struct bad_behaviours *manners)
{
	char other[sizeof *manners->names];
	for (int left = manners->count; left > 1; left--) {
		long i = fault_random_below(left);
		memcpy(other, manners->names[i], sizeof other);
		memcpy(manners->names[i], manners->names[left - 1], sizeof other);
		memcpy(manners->names[left - 1], other, sizeof other);
	}
}

static void run(struct tally *tally)
{
	static struct bad_behaviours manners;
	struct account *account = account_new(delays);
	tally->unit = "tasks";
	bad_worker_read(&manners);
	shuffle(&manners);
	/* A small run meets some, a full one all. */
	long part = fault_trials() / manners.count > 5 ? fault_trials() / manners.count : 5;
	for (int i = 0, count; i < manners.count && (count = fault_take(tally, part)) > 0; i++) {
		const char *behaviour = manners.names[i];
		fprintf(stderr, "%s\n", behaviour);
		(bad_worker_never_works(behaviour) ? run_idle : run_working)(
			behaviour, count, account, tally);
	}
	ck_assert_int_eq(tally->repeats, 0);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 2, .name = "evil worker", .few = 20, .full = 5800, .run = run});
}
