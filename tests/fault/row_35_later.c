/* The supervisor is killed while messages wait for their time and workers postpone their tasks: in
 * half of the trials by SIGKILL at a random moment, in the others by itself at a labelled point
 * (supervisor/base/crash_point.h). Nothing is lost, no attempt is counted, and nothing begins
 * early: the workers report that themselves. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#include <signal.h>
#include <stdio.h>

#define LOAD     200 /* ready at each start, about; as many wait */
#define SPAN_MS  3000
#define PREFETCH 32
#define WORKERS  4
#define PASSES   20 /* the crash comes at one of the first ones of its point */
#define PAUSE_MS 400

static const char *const delays[] = {"100ms", NULL};
/* In which messages wait that begin within SPAN_MS. */
static const char *const steps[] = {"10ms", "30ms", "100ms", "300ms", "1s", "3s"};

static const char *const points[] = {"delivery-taken", "answer-read", "copy-published",
	"confirm-received", "confirm-counted", "ack-appended"};
#define POINTS (long)(sizeof points / sizeof *points)

static struct proc *serve(bool is_to_crash)
{
	char *pool = scratch_text("- {queue: %s, command: [\"%s\"], workers: %d, pipeline: 4,\n"
				  "   prefetch: %d, retry: {attempts: 3, delay: [100ms]}}\n",
		fixture.queue, fixture_built("workers/echo"), WORKERS, PREFETCH);
	char *crash = scratch_text("WPOOL_CRASH_AT=%s:%ld", points[fault_random_below(POINTS)],
		1 + fault_random_below(PASSES));
	const char *environment[] = {crash, NULL};
	struct proc *proc = fixture_serve_program(
		is_to_crash ? "wpool-crash" : "wpool", is_to_crash ? environment : NULL, pool);
	free(crash);
	free(pool);
	return proc;
}

static void free_served(struct proc *proc)
{
	ck_assert_int_eq(proc_count_logged(proc, "too early"), 0);
	fixture_free_program(proc);
}

static void kill_at_random(void)
{
	struct proc *proc = serve(false);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	int64_t end = deadline_in((int)fault_random_below(PAUSE_MS));
	while (deadline_left(end) > 0)
		fixture_poll(deadline_in(DEADLINE_DEFAULT_MS), 5, "the moment of the kill");
	proc_signal(proc, SIGKILL);
	ck_assert_int_eq(proc_wait(proc), 128 + SIGKILL);
	free_served(proc);
}

static void crash_at_point(void)
{
	struct proc *proc = serve(true);
	ck_assert_int_eq(proc_wait(proc), 128 + SIGKILL);
	free_served(proc);
}

/* What comes back from one may go to another as long as its time has not come. */
static bool waits(void)
{
	bool waits = false;
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		char *queue = scratch_text("%s.wait.%s", fixture.queue, steps[i]);
		waits |= client_ready(fixture.client, queue) >= 0 &&
			 broker_messages(fixture.broker, queue) > 0;
		free(queue);
	}
	return waits;
}

static void settle_all(struct account *account, struct tally *tally)
{
	struct proc *proc = serve(false);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	int64_t due = deadline_in(SPAN_MS), deadline = deadline_in(4 * DEADLINE_DEFAULT_MS);
	while (deadline_left(due) > 0 || waits() || broker_messages(fixture.broker, fixture.queue))
		fixture_poll(deadline, 50, "nothing waits for its time");
	do
		account_await_settled(account);
	while (waits());
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	free_served(proc);
}

#define KILLS_A_PART 10 /* then the account is closed, and the repeats are counted */

static void run(struct tally *tally)
{
	struct account *account = account_new(delays);
	bool goes_on = true;
	long most = 0;
	tally->unit = "kills";
	account_set_later(account, SPAN_MS);
	while (goes_on) {
		int kills = 0;
		while (kills < KILLS_A_PART && (goes_on = fault_next(tally))) {
			account_fill(account, LOAD, "dtrx", 0);
			if (kills++ % 2)
				crash_at_point();
			else
				kill_at_random();
		}
		settle_all(account, tally);
		long repeats = account_close(account, tally);
		ck_assert_int_le(repeats, kills * PREFETCH);
		if (kills && repeats / kills > most)
			most = repeats / kills;
	}
	snprintf(tally->note, sizeof tally->note,
		"nothing early; at most %ld repeats a kill in the mean of %d (prefetch %d)", most,
		KILLS_A_PART, PREFETCH);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 35, .name = "killed, tasks for later", .few = 20, .full = 1000, .run = run});
}
