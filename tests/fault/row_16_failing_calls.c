/* One call of the supervisor fails, as if there were no memory, no descriptor, no process,
 * no disk or no network. Whichever call it is, the supervisor continues or exits in order, and
 * every message ends as expected. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define LOAD 8
#define TRIALS_APART                                                                               \
	20 /* then a supervisor without faults does the rest, and the account is closed */
#define LIMIT_MS 60000

static const char *const delays[] = {"100ms", NULL};

static struct victim {
	const char *call;
	int error;
	long calls; /* in a run in which none fails; counted first */
} victims[] = {
	{"mkdtemp", ENOSPC, 0},
	{"eventfd", EMFILE, 0},
	{"epoll_create1", EMFILE, 0},
	{"socket", EMFILE, 0},
	{"pipe2", EMFILE, 0},
	{"fork", EAGAIN, 0},
	{"listen", EADDRINUSE, 0},
	{"bind", EADDRINUSE, 0},
	{"connect", ENETUNREACH, 0},
	{"accept4", EMFILE, 0},
	{"setsockopt", ENOBUFS, 0},
	{"open", EMFILE, 0},
	{"epoll_ctl", ENOMEM, 0},
	{"write_file", ENOSPC, 0},
	{"write_pipe", EAGAIN, 0},
	{"read", EAGAIN, 0},
	{"recv", ECONNRESET, 0},
	{"recv", EAGAIN, 0},
	{"send", ECONNRESET, 0},
	{"send", EAGAIN, 0},
	{"memory", ENOMEM, 0},
};
#define VICTIMS (sizeof victims / sizeof *victims)

static struct proc *serve(const struct victim *victim, long nth)
{
	char *pool = scratch_text("- {queue: %s, command: [\"%s\"], workers: 2, pipeline: 2,\n"
				  "   retry: {attempts: 3, delay: [100ms]}}\n",
		fixture.queue, fixture_built("workers/echo"));
	char *environment[] = {scratch_text("LD_PRELOAD=%s", fixture_built("failing_calls.so")),
		scratch_text("WPOOL_FAIL_PROGRAM=wpool"),
		scratch_text("WPOOL_FAIL_CALL=%s", victim->call),
		scratch_text("WPOOL_FAIL_ERRNO=%d", victim->error),
		scratch_text("WPOOL_FAIL_NTH=%ld", nth),
		scratch_text("WPOOL_FAIL_COUNT=%s/count", fixture.folder), NULL};
	struct proc *proc = fixture_serve_program("wpool", (const char *const *)environment, pool);
	for (size_t i = 0; environment[i]; i++)
		free(environment[i]);
	free(pool);
	return proc;
}

/* Until then it does not handle signals. Either line may be lost, since writing it may be the call
 * that fails. */
static bool is_started(struct proc *proc)
{
	return proc_has_logged(proc, ", pid ") || proc_has_logged(proc, " ready: ");
}

/* Wait until all messages have ended. Return false if it exited before, as it may when it cannot
 * start. */
static bool await_all_ended(struct account *account, struct proc *proc)
{
	int64_t deadline = deadline_in(LIMIT_MS);
	while (!is_started(proc) || !account_has_ended(account)) {
		if (!proc_is_alive(proc))
			return false;
		ck_assert_msg(deadline_left(deadline) > 0, "it neither continues nor exits:\n%s",
			proc_stderr(proc));
		poll(NULL, 0, 10);
	}
	return true;
}

/* Return whether it worked to the end. */
static bool try_call(struct account *account, const struct victim *victim, long nth)
{
	fprintf(stderr, "%s number %ld fails\n", victim->call, nth);
	account_post(account, LOAD, "drtx", 0);
	struct proc *proc = serve(victim, nth);
	bool went_on = await_all_ended(account, proc);
	if (went_on)
		proc_signal(proc, SIGTERM);
	int code = proc_wait(proc);
	ck_assert_msg(code < 128, "%s number %ld fails: it died of signal %d", victim->call, nth,
		code - 128);
	fixture_free_program(proc);
	return went_on;
}

static void count_ends(struct account *account, struct tally *tally)
{
	const struct victim none = {"mkdtemp", 0, 0};
	struct proc *proc = serve(&none, 0);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	account_await_settled(account);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	fixture_free_program(proc);
	ck_assert_int_le(account_close(account, tally), TRIALS_APART * LOAD);
}

static void count_calls(struct account *account, struct victim *victim)
{
	ck_assert(try_call(account, victim, 0));
	char *path = scratch_path(fixture.folder, "count");
	char *text = scratch_read(path, NULL);
	ck_assert_ptr_nonnull(text);
	victim->calls = atol(text);
	free(text);
	free(path);
}

/* The full run fails every call; else the same number of calls of each function, evenly spread. The
 * environment variable CALL selects one function. */
static void run(struct tally *tally)
{
	struct account *account = account_new(delays);
	long each = fault_trials() / (long)VICTIMS + 1, left = 0, all = 0, parts = 0;
	const char *only = getenv("CALL");
	tally->unit = "calls";
	for (size_t i = 0; i < VICTIMS; i++) {
		if (only && strcmp(only, victims[i].call) != 0)
			continue;
		count_calls(account, &victims[i]);
		long calls = victims[i].calls, step = calls / each + 1;
		all += calls;
		for (long nth = 1 + fault_random_below(step); nth <= calls; nth += step) {
			if (!fault_next(tally))
				break;
			left += !try_call(account, &victims[i], nth);
			if (++parts % TRIALS_APART == 0)
				count_ends(account, tally);
		}
	}
	count_ends(account, tally);
	snprintf(tally->note, sizeof tally->note,
		"of %ld calls of %zu functions; in %ld cases it could not start and said so", all,
		VICTIMS, left);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 16, .name = "calls that fail", .few = 30, .full = 100000, .run = run});
}
