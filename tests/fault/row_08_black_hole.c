/* A black hole under load: bytes on a connection are lost without an error. The consuming
 * connection, the publishing one, or both; bytes stay in the sockets, or are dropped. Two missed
 * heartbeats must be enough to notice it. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/proxy.h"
#include "fault/watch.h"

#include <poll.h>
#include <stdio.h>

#define LOAD      200 /* in the queue at each trial, about */
#define PROGRESS  40
#define PREFETCH  32
#define HEARTBEAT 1 /* the smallest */
#define SPREAD_FD 4
/* Bytes that are already in the socket still arrive, and two heartbeats are counted from then on.
 */
#define LAST_WORDS_MS 50

static const char *const delays[] = {"100ms", NULL};

/* The names of the two connections in wpool's log. */
static const struct line {
	const char *name, *lost, *back;
} lines[] = {
	{"wpool consume", "(consume): nothing received", "(consume): connected"},
	{"wpool publish", "(publish): nothing received", "(publish): connected"},
};
#define LINES (int)(sizeof lines / sizeof *lines)

struct times {
	int64_t longest_ms, late; /* late: how many were over the bound */
	int64_t bound_ms;
};

static void note_time(struct times *times, int64_t took)
{
	times->longest_ms = took > times->longest_ms ? took : times->longest_ms;
	times->late += took > times->bound_ms;
}

static struct proc *serve(const struct proxy *proxy)
{
	char *path = scratch_path(fixture.folder, "proxied.yaml");
	char *config = scratch_text(
		"broker: {url: \"amqp://guest:guest@127.0.0.1:%d/%%2f?heartbeat=%d\"}\npools:\n"
		"- {queue: %s, command: [\"%s\"], workers: 4, pipeline: 4,\n"
		"   prefetch: %d, retry: {attempts: 3, delay: [100ms]}}\n",
		proxy_port(proxy), HEARTBEAT, fixture.queue, fixture_built("workers/echo"),
		PREFETCH);
	scratch_write(path, config);
	const char *const arguments[] = {"serve", "--config", path, "--log-format", "text", NULL};
	struct proc *proc = fixture_wpool(arguments);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	free(config);
	free(path);
	return proc;
}

static int64_t await_logged(struct proc *proc, const char *words, int count)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (proc_count_logged(proc, words) < count) {
		ck_assert_msg(deadline_left(deadline) > 0, "'%s' was not logged", words);
		ck_assert(proc_is_alive(proc));
		poll(NULL, 0, 10);
	}
	return deadline_now_ms();
}

/* victims: a bit for each of the lines. */
static void silence_connections(struct proc *proc, struct proxy *proxy, unsigned victims,
	struct times *noticed, struct times *back)
{
	int lost_before[LINES], back_before[LINES];
	enum proxy_flow how = fault_random_below(2) ? PROXY_STALL : PROXY_SWALLOW;
	for (int i = 0; i < LINES; i++) {
		lost_before[i] = proc_count_logged(proc, lines[i].lost);
		back_before[i] = proc_count_logged(proc, lines[i].back);
	}
	int64_t begun = deadline_now_ms();
	proxy_set_flow(proxy, victims == 3 ? NULL : lines[victims - 1].name, how, how);
	for (int i = 0; i < LINES; i++)
		if (victims & 1U << i)
			note_time(noticed,
				await_logged(proc, lines[i].lost, lost_before[i] + 1) - begun);
	for (int i = 0; i < LINES; i++)
		if (victims & 1U << i)
			note_time(back,
				await_logged(proc, lines[i].back, back_before[i] + 1) - begun);
}

static void run(struct tally *tally)
{
	struct times noticed = {.bound_ms = 2000 * HEARTBEAT + LAST_WORDS_MS};
	struct times back = {.bound_ms = 2000 * HEARTBEAT + 1000};
	struct account *account = account_new(delays);
	struct proxy *proxy = proxy_start(broker_port(fixture.broker));
	struct proc *proc = serve(proxy);
	tally->unit = "holes";
	account_fill(account, LOAD, "drtx", 0);
	account_await_settled(account);
	long memory = watch_memory_kib(proc_pid(proc));
	int descriptors = watch_descriptors(proc_pid(proc));
	while (fault_next(tally)) {
		account_fill(account, LOAD, "drtx", 2);
		account_await_progress(account, 1 + fault_random_below(PROGRESS));
		silence_connections(
			proc, proxy, 1 + (unsigned)fault_random_below(3), &noticed, &back);
		/* The broker has seen two heartbeats missing by now, or sees a cut. */
		proxy_cut_held(proxy);
	}
	account_await_settled(account);
	tally->drift_kib = watch_memory_kib(proc_pid(proc)) - memory;
	ck_assert_int_le(watch_descriptors(proc_pid(proc)), descriptors + SPREAD_FD);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	ck_assert_int_le(account_close(account, tally), tally->trials * PREFETCH);
	snprintf(tally->note, sizeof tally->note,
		"heartbeat %d s: noticed in %lld ms at most (%lld over 2050), connected again in %lld ms (%lld over 3000)",
		HEARTBEAT, (long long)noticed.longest_ms, (long long)noticed.late,
		(long long)back.longest_ms, (long long)back.late);
	proxy_free(proxy);
	account_free(account);
}

int main(void)
{
	return fault_main(
		&(struct fault){.row = 8, .name = "black hole", .few = 6, .full = 200, .run = run});
}
