/* The wall clock is stepped by an hour, forward and backward, under load. Only times written for
 * people use it: no limit expires early or late, no connection is reopened, no task is retried or
 * repeated. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WORKERS 4
#define LOAD    24
#define WORK_MS 100
#define HANG_MS 60000
#define STEP_S  3600
#define SPREAD  900 /* seconds since the last line of the log, at most */
#define DAY_S   86400

static const char *const delays[] = {"100ms", NULL};

/* Of the clock, one after the other: each trial is one step from the one before. */
static const int64_t shifts[] = {STEP_S, 0, -STEP_S, 0};
#define SHIFTS (long)(sizeof shifts / sizeof *shifts)

struct clock {
	char *path;
	int64_t *shift; /* shared with those who have it preloaded */
};

static struct clock make_clock(void)
{
	struct clock clock = {.path = scratch_path(fixture.folder, "shift")};
	int fd = open(clock.path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	ck_assert_int_eq(ftruncate(fd, sizeof *clock.shift), 0);
	clock.shift = mmap(NULL, sizeof *clock.shift, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(clock.shift, MAP_FAILED);
	close(fd);
	return clock;
}

static void free_clock(struct clock *clock)
{
	munmap(clock->shift, sizeof *clock->shift);
	free(clock->path);
}

/* A false end would be a third attempt, and that a dead letter. Heartbeats that stop are noticed by
 * the broker before the last task of the row is through. Its log tells every task, with the time.
 */
static struct proc *serve(const struct clock *clock)
{
	char *pool = scratch_text("- {queue: %s, command: [\"%s\"], workers: %d, pipeline: 2,\n"
				  "   limits: {hard: 5s}, retry: {attempts: 2, delay: [100ms]}}\n",
		fixture.queue, fixture_built("workers/echo"), WORKERS);
	char *environment[] = {scratch_text("LD_PRELOAD=%s", fixture_built("shifted_clock.so")),
		scratch_text("WPOOL_CLOCK_SHIFT=%s", clock->path),
		scratch_text("WPOOL_HEARTBEAT=4s"), scratch_text("WPOOL_LOG_LEVEL=debug"), NULL};
	struct proc *proc = fixture_serve_program("wpool", (const char *const *)environment, pool);
	for (size_t i = 0; environment[i]; i++)
		free(environment[i]);
	free(pool);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	return proc;
}

/* By how much the time at the beginning of its last line is off ours: a whole day is none. */
static int64_t shift_of_last_line(struct proc *proc)
{
	char *said = proc_stderr(proc);
	char *end = said + strlen(said), *line;
	int hours, minutes, seconds;
	struct tm local;
	time_t now = time(NULL);
	localtime_r(&now, &local);
	while (end > said && end[-1] == '\n')
		*--end = 0;
	line = strrchr(said, '\n');
	ck_assert_int_eq(sscanf(line ? line + 1 : said, "%*d-%*d-%*d %2d:%2d:%2d", &hours, &minutes,
				 &seconds),
		3);
	free(said);
	int64_t off = (hours - local.tm_hour) * 3600 + (minutes - local.tm_min) * 60 + seconds -
		      local.tm_sec;
	return off - (off > DAY_S / 2) * DAY_S + (off < -DAY_S / 2) * DAY_S;
}

static void step(struct clock *clock, struct proc *proc, struct account *account, long trial)
{
	int64_t shift = shifts[(trial - 1) % SHIFTS];
	account_post(account, LOAD, "drt", WORK_MS);
	account_await_progress(account, 1 + fault_random_below(LOAD / 4));
	*clock->shift = shift;
	account_await_settled(account);
	fprintf(stderr, "%s\n---\n", proc_stderr(proc));
	int64_t seen = shift_of_last_line(proc);
	ck_assert_msg(seen <= shift + SPREAD && seen >= shift - SPREAD,
		"the supervisor's clock is off by %lld s, not %lld", (long long)seen,
		(long long)shift);
}

/* That nothing is put off, either: two attempts hang, and have to end long before they would by
 * themselves. */
static void step_back_in_a_limit(struct clock *clock, struct proc *proc, struct account *account)
{
	account_post(account, 1, "p", HANG_MS);
	client_expect_ready(fixture.client, fixture.queue, 0);
	*clock->shift -= STEP_S;
	for (int attempt = 1; attempt <= 2; attempt++)
		proc_expect(proc, "worker exceeded its ");
	account_await_settled(account);
	ck_assert_int_eq(proc_count_logged(proc, "worker exceeded its "), 2);
}

static void expect_same_workers(const struct proc *proc, const pid_t workers[])
{
	ck_assert_int_eq(watch_children(proc_pid(proc), "echo", NULL, 0), WORKERS);
	for (int i = 0; i < WORKERS; i++)
		ck_assert_int_eq(kill(workers[i], 0), 0);
}

static void run(struct tally *tally)
{
	struct account *account = account_new(delays);
	struct clock clock = make_clock();
	struct proc *proc = serve(&clock);
	pid_t workers[WORKERS];
	tally->unit = "steps";
	watch_expect_children(proc_pid(proc), "echo", WORKERS);
	watch_children(proc_pid(proc), "echo", workers, WORKERS);
	while (fault_next(tally))
		step(&clock, proc, account, tally->trials);
	expect_same_workers(proc, workers);
	step_back_in_a_limit(&clock, proc, account);
	ck_assert_int_eq(proc_count_logged(proc, ": connected, "), 2);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	ck_assert_int_eq(account_close(account, tally), 0);
	snprintf(tally->note, sizeof tally->note,
		"by an hour, to and fro; no worker was killed, none connected again");
	free_clock(&clock);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 17, .name = "clock step", .few = 8, .full = 100, .run = run});
}
