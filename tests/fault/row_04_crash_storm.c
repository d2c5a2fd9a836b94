/* Workers that cannot work: one exits at once (/bin/false), one as soon as it has connected. The
 * waits between their starts grow, the pool stops consuming, the supervisor is idle, and every
 * message stays in the queue for the next pool. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/log_lines.h"
#include "fault/watch.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORKERS    16
#define LOAD       300
#define WINDOW_MS  10000
#define STARTS_MAX 5 /* starts of a slot in a window */
#define ATTEMPTS   1000

static const char *const delays[] = {"100ms", NULL};

struct storm {
	double busiest; /* share of a processor, in percent */
	long max;       /* starts of a slot in a window */
	long attempts;  /* that tasks lost */
};

static struct proc *serve(const char *command)
{
	char *pool = scratch_text("- {queue: %s, command: [%s], workers: %d, pipeline: 1,\n"
				  "   retry: {attempts: %d, delay: [100ms]}}\n",
		fixture.queue, command, WORKERS, ATTEMPTS);
	struct proc *proc = fixture_serve_pools(pool);
	free(pool);
	return proc;
}

/* The processor time of a process. */
static double used_s(pid_t pid)
{
	char *path = scratch_text("/proc/%d/stat", (int)pid);
	char *stat = scratch_read(path, NULL);
	char *end = stat ? strrchr(stat, ')') : NULL;
	unsigned long user = 0, system = 0;
	ck_assert_ptr_nonnull(end);
	ck_assert_int_eq(sscanf(end, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
				 &system),
		2);
	free(stat);
	free(path);
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void await_starts(struct proc *proc, long starts)
{
	int64_t deadline = deadline_in(1800 * 1000);
	while (proc_count_logged(proc, "worker died: ") < starts) {
		ck_assert_msg(deadline_left(deadline) > 0, "too few starts");
		poll(NULL, 0, 200);
	}
}

/* The log is read, because the broker still counts a cancelled consumer whose acks it awaits. */
static void await_rest(struct proc *proc)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	bool is_resting = false;
	while (!is_resting) {
		ck_assert_msg(deadline_left(deadline) > 0, "it goes on consuming");
		char *said = proc_stderr(proc);
		const char *last = said;
		for (const char *at = said; (at = strstr(at, "consuming")); at++)
			last = at;
		/* Nothing had to be stopped where no worker was ever ready. */
		is_resting = last == said || strncmp(last, "consuming until", 15) == 0;
		free(said);
		poll(NULL, 0, 50);
	}
}

/* Count deaths: each follows a start at once. */
static void count_starts(char *said, struct storm *storm)
{
	static long times[WORKERS][4096];
	long counts[WORKERS] = {0};
	struct log_line line;
	for (char *at = said; log_lines_next(&at, &line);) {
		storm->attempts += strstr(line.message, "attempt ") != NULL;
		if (line.slot < 0 || !strstr(line.message, "worker died: "))
			continue;
		long *mine = times[line.slot], *count = &counts[line.slot];
		ck_assert_int_lt(*count, 4096);
		mine[(*count)++] = line.time_ms;
		long first = *count - 1;
		while (first > 0 && log_lines_span_ms(mine[first - 1], line.time_ms) < WINDOW_MS)
			first--;
		if (*count - first > storm->max)
			storm->max = *count - first;
	}
	ck_assert_int_le(storm->max, STARTS_MAX);
}

static void serve_good_workers(struct account *account, struct tally *tally)
{
	char *echo = scratch_text("\"%s\"", fixture_built("workers/echo"));
	struct proc *proc = serve(echo);
	account_await_settled(account);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	fixture_free_program(proc);
	free(echo);
}

static void run_storm(const char *command, long starts, struct account *account,
	struct tally *tally, struct storm *storm)
{
	account_post(account, LOAD, "d", 0);
	int64_t begun = deadline_now_ms();
	struct proc *proc = serve(command);
	pid_t pid = proc_pid(proc);
	await_starts(proc, starts);
	await_rest(proc);
	double share = 100000 * used_s(pid) / (double)(deadline_now_ms() - begun);
	if (share > storm->busiest)
		storm->busiest = share;
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	char *said = proc_stderr(proc);
	count_starts(said, storm);
	free(said);
	fixture_free_program(proc);
	ck_assert_int_eq(account_witnessed(account), 0);
	ck_assert_int_le(client_ready(fixture.client, fixture.dead), 0);
	serve_good_workers(account, tally);
	account_close(account, tally);
}

static long take_half(struct tally *tally, bool is_last)
{
	long half = 0, wanted = is_last ? fault_trials() : fault_trials() / 2;
	while (half < wanted && fault_next(tally))
		half++;
	return half;
}

static void run(struct tally *tally)
{
	struct account *account = account_new(delays);
	struct storm storm = {0};
	tally->unit = "starts";
	char *leaver = scratch_text("\"%s\", exit-after-connect", fixture_built("workers/evil"));
	run_storm("/bin/false", take_half(tally, false), account, tally, &storm);
	/* No task was sent to a worker that had not connected. */
	ck_assert_int_eq(storm.attempts, 0);
	run_storm(leaver, take_half(tally, true), account, tally, &storm);
	ck_assert_int_eq(tally->repeats, 0);
	ck_assert_msg(storm.busiest < 5, "%.1f %% of a processor", storm.busiest);
	snprintf(tally->note, sizeof tally->note,
		"%.2f %% of a processor; at most %ld starts of a slot in 10 s; %ld attempts lost to workers "
		"that connect and end",
		storm.busiest, storm.max, storm.attempts);
	free(leaver);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 4, .name = "crash storm", .few = 120, .full = 320, .run = run});
}
