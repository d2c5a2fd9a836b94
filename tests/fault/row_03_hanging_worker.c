/* Workers that hang: stopped by SIGSTOP or ignoring all signals in the middle of a task, or
 * ignoring
 * __quit__ and SIGTERM when the supervisor stops. Each is killed after its limit and the grace, and
 * its task is given up as timed out. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/log_lines.h"
#include "fault/watch.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define WORKERS  40
#define LOAD     160 /* good tasks in a round */
#define HARD_MS  500
#define GRACE_MS 300
#define BOUND_MS 100 /* of the table */

static const char *const delays[] = {"100ms", NULL};

static struct proc *serve(const char *behaviour)
{
	static const char *const environment[] = {"TZ=UTC", NULL};
	char *pool = scratch_text(
		"- {queue: %s, command: [\"%s\", \"%s\", \"EVIL\"], workers: %d, pipeline: 1,\n"
		"   limits: {hard: %dms, grace: %dms, boot: 30s},\n"
		"   retry: {attempts: 9, delay: [100ms], on: [failed, crashed, protocol-error]}}\n",
		fixture.queue, fixture_built("workers/evil"), behaviour, WORKERS, HARD_MS,
		GRACE_MS);
	struct proc *proc = fixture_serve_program("wpool", environment, pool);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	watch_expect_children(proc_pid(proc), "evil", WORKERS);
	free(pool);
	return proc;
}

/* Record how late each worker died, by the times that it and the supervisor logged. */
static long record_hangs(char *said, struct spread *late)
{
	long since[WORKERS] = {0}; /* by slot; 0: does not hang */
	bool was_termed[WORKERS] = {false};
	struct log_line line;
	long deaths = 0;
	for (char *at = said; log_lines_next(&at, &line);) {
		const char *stamp = strstr(line.message, "in hand since ");
		if (line.slot < 0)
			continue;
		if (stamp) {
			since[line.slot] = (long)(atoll(stamp + 14) % (24LL * 3600 * 1000));
		} else if (strstr(line.message, "exceeded its hard limit")) {
			was_termed[line.slot] = true;
		} else if (strstr(line.message, "worker died: ") && since[line.slot]) {
			ck_assert_msg(was_termed[line.slot], "killed without a warning");
			ck_assert_ptr_nonnull(strstr(line.message, "signal 9"));
			spread_add(late, log_lines_span_ms(since[line.slot], line.time_ms) -
						 HARD_MS - GRACE_MS);
			since[line.slot] = 0;
			was_termed[line.slot] = false;
			deaths++;
		}
	}
	return deaths;
}

static void run_hanging(const char *behaviour, int count, struct account *account,
	struct tally *tally, struct spread *late)
{
	struct proc *proc = serve(behaviour);
	account_post(account, LOAD / 2, "d", 0);
	for (int i = 0; i < count; i++)
		client_send(fixture.client, fixture.queue, "EVIL");
	account_post(account, LOAD / 2, "d", 0);
	account_await_settled(account);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	char *said = proc_stderr(proc);
	ck_assert_int_eq(record_hangs(said, late), count);
	free(said);
	fixture_free_program(proc);
	for (int i = 0; i < count; i++) {
		struct message *dead = client_take(fixture.client, fixture.dead);
		ck_assert_str_eq(dead->body, "EVIL");
		ck_assert(message_header_is(dead, "x-wpool-reason", "timed-out"));
		message_free(dead);
	}
}

/* Workers that ignore the stop: the grace after __quit__, the grace after SIGTERM, then SIGKILL. */
static long record_late_exits(char *said, struct spread *late)
{
	struct log_line line;
	long begun = -1, ends = 0;
	for (char *at = said; log_lines_next(&at, &line);) {
		if (strstr(line.message, ": draining: "))
			begun = line.time_ms;
		if (begun < 0 || !strstr(line.message, "worker left: "))
			continue;
		ck_assert_ptr_nonnull(strstr(line.message, "signal 9"));
		spread_add(late, log_lines_span_ms(begun, line.time_ms) - 2L * GRACE_MS);
		ends++;
	}
	return ends;
}

static void run_ignoring_stop(struct account *account, struct tally *tally, struct spread *late)
{
	struct proc *proc = serve("outstay");
	account_post(account, LOAD, "d", 0);
	account_await_settled(account);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	char *said = proc_stderr(proc);
	ck_assert_int_eq(record_late_exits(said, late), WORKERS);
	free(said);
	fixture_free_program(proc);
}

static void tell(struct tally *tally, struct spread *late)
{
	snprintf(tally->note, sizeof tally->note,
		"killed %+ld ms after limit + grace in the median (%+ld to %+ld, 99 in 100 within %+ld); "
		"%ld over %d ms",
		spread_at(late, 0.5), spread_at(late, 0), spread_at(late, 1), spread_at(late, 0.99),
		spread_count_over(late, BOUND_MS), BOUND_MS);
}

static void run(struct tally *tally)
{
	struct account *account = account_new(delays);
	struct spread late = {0};
	tally->unit = "hangs";
	for (int round = 0, count; (count = fault_take(tally, WORKERS)) > 0; round++) {
		if (round % 3 == 2 && count == WORKERS)
			run_ignoring_stop(account, tally, &late);
		else
			run_hanging(round % 2 ? "stop-itself" : "hang-ignoring", count, account,
				tally, &late);
		account_close(account, tally);
	}
	ck_assert_int_eq(late.count, tally->trials);
	ck_assert_int_eq(tally->repeats, 0);
	tell(tally, &late);
	spread_release(&late);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){.row = 3,
		.name = "hangs, ignores quit and TERM",
		.few = 160,
		.full = 1000,
		.run = run});
}
