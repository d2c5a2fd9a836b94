/* The broker stops reading, in three ways, each for a third of the time: a memory alarm blocks
 * publishes, SIGSTOP stops the broker, or the network stalls. One pool replies, and its outbox
 * fills; the other has no replies, and works as long as the broker reads its acks. Afterwards all
 * tasks are settled; and a SIGTERM during the fault is handled without delay. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/proxy.h"
#include "fault/watch.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORKERS    2
#define REPLIES    600 /* many more than an outbox of 64 KiB holds */
#define REPLY_MS   10
#define PREFETCH   1000 /* of the pool that replies: its outbox is to be the limit */
#define PLAIN_FEW  50
#define PLAIN_MS   100 /* a plain task's work */
#define PLAIN_RATE (WORKERS * 1000 / PLAIN_MS)
#define DRAIN_S    2
#define MAX_KIB    8192
#define SHORT_S    12    /* a run of less takes one of the three, by chance */
#define PATIENCE   90000 /* ms; a reconnect waits for up to seven seconds, a busy machine longer */
#define SPREAD_FD  4

static const char *const delays[] = {"100ms", NULL};

enum kind { ALARM, PAUSE, STALL, KINDS };
static const char *const words[KINDS] = {"alarm", "pause", "stall"};

struct run {
	struct tally *tally;
	struct account *account; /* of the pool that replies */
	struct proxy *proxy;
	struct proc *proc;
	char *plain, *plain_witness;
	long plain_posted;
	long at_work[KINDS]; /* plain tasks done under it */
	long replied[KINDS]; /* answered and held back under it */
	int64_t stop_ms;     /* the longest that a SIGTERM took under it */
};

/* ---------- the two pools ---------- */

static void init_plain(struct run *run)
{
	char *replier = scratch_path(fixture.folder, "replier");
	run->plain = scratch_text("%s.plain", fixture.queue);
	run->plain_witness = scratch_path(fixture.folder, "plain-witness");
	client_declare(fixture.client, run->plain, CLIENT_QUORUM);
	/* This argument distinguishes its workers from those of the other pool. */
	ck_assert_int_eq(symlink(fixture_built("workers/echo"), replier), 0);
	free(replier);
}

static struct proc *serve(struct run *run, enum kind kind)
{
	char *path = scratch_path(fixture.folder, "proxied.yaml");
	/* Without heartbeats a stall lasts; with them it ends as a lost connection. */
	char *config = scratch_text(
		"broker: {url: \"amqp://guest:guest@127.0.0.1:%d/%%2f%s\"}\ndrain: %ds\npools:\n"
		"- {queue: %s, command: [\"%s/replier\"], workers: %d, pipeline: 4, prefetch: %d,\n"
		"   outbox: 64KiB, retry: {attempts: 3, delay: [100ms]}}\n"
		"- {queue: %s, command: [env, \"WITNESS=%s\", \"%s\"], workers: %d, pipeline: 4,\n"
		"   prefetch: 32, retry: {attempts: 3, delay: [100ms]}}\n",
		proxy_port(run->proxy), kind == STALL ? "?heartbeat=0" : "", DRAIN_S, fixture.queue,
		fixture.folder, WORKERS, PREFETCH, run->plain, run->plain_witness,
		fixture_built("workers/echo"), WORKERS);
	scratch_write(path, config);
	const char *const arguments[] = {"serve", "--config", path, "--log-format", "text", NULL};
	struct proc *proc = fixture_wpool(arguments);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	client_expect_consumers(fixture.client, run->plain, 1);
	watch_expect_children(proc_pid(proc), "replier", WORKERS);
	free(config);
	free(path);
	return proc;
}

#define PLAIN_BATCH 500

static void post_plain(struct run *run, long count)
{
	char ids[PLAIN_BATCH][16], *sleep = scratch_text("%d", PLAIN_MS);
	struct letter letters[PLAIN_BATCH];
	while (count > 0) {
		long some = count < PLAIN_BATCH ? count : PLAIN_BATCH;
		for (long i = 0; i < some; i++) {
			snprintf(ids[i], sizeof ids[i], "%ld", run->plain_posted++);
			letters[i] = (struct letter){.body = ids[i],
				.correlation_id = ids[i],
				.headers = {{"X-Sleep-Ms", sleep}}};
		}
		client_post_all(fixture.client, run->plain, letters, (size_t)some, NULL);
		count -= some;
	}
	free(sleep);
}

static long plain_done(const struct run *run)
{
	long lines = 0;
	char *text = scratch_read(run->plain_witness, NULL);
	for (const char *at = text; at && (at = strchr(at, '\n')); at++)
		lines++;
	free(text);
	return lines;
}

static void await_plain(struct run *run, long done)
{
	int64_t deadline = deadline_in(PATIENCE);
	while (plain_done(run) < done) {
		ck_assert_msg(deadline_left(deadline) > 0, "the pool without replies stays at %ld",
			plain_done(run));
		poll(NULL, 0, 20);
	}
}

/* The broker reads acks: the queue holds only tasks that are not done or are just being acked. */
static void expect_acks_to_flow(struct run *run)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	long left = run->plain_posted - plain_done(run) + WORKERS;
	while (broker_messages(fixture.broker, run->plain) > left) {
		ck_assert_msg(deadline_left(deadline) > 0, "acks do not arrive");
		poll(NULL, 0, 50);
	}
}

static void count_plain_ends(struct run *run)
{
	long *ends = calloc((size_t)run->plain_posted, sizeof *ends);
	char *text = scratch_read(run->plain_witness, NULL), *rest = NULL;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		long number = atol(line);
		ck_assert(number >= 0 && number < run->plain_posted);
		ends[number]++;
	}
	for (long i = 0; i < run->plain_posted; i++) {
		run->tally->lost += ends[i] == 0;
		run->tally->done += ends[i] > 0;
		run->tally->repeats += ends[i] > 1 ? ends[i] - 1 : 0;
	}
	run->tally->asked += run->plain_posted;
	run->plain_posted = 0;
	unlink(run->plain_witness);
	free(text);
	free(ends);
}

/* ---------- the faults ---------- */

static void set_alarm(const char *watermark)
{
	char *expression =
		scratch_text("vm_memory_monitor:set_vm_memory_high_watermark(%s)", watermark);
	free(broker_eval(fixture.broker, expression));
	free(expression);
}

static void begin_fault(struct run *run, enum kind kind)
{
	struct proxy_plan plan = PROXY_CLEAN;
	plan.flow[PROXY_TO_BROKER] = PROXY_STALL;
	if (kind == ALARM)
		set_alarm("0.00001");
	if (kind == PAUSE)
		broker_command(fixture.broker, "pause");
	if (kind == STALL) {
		proxy_plan_rest(run->proxy, &plan);
		proxy_set_flow(run->proxy, NULL, PROXY_STALL, PROXY_PASS);
	}
}

static void end_fault(struct run *run, enum kind kind)
{
	if (kind == ALARM)
		set_alarm("0.4");
	if (kind == PAUSE)
		broker_command(fixture.broker, "resume");
	if (kind == STALL) {
		proxy_plan_rest(run->proxy, &PROXY_CLEAN);
		proxy_set_flow(run->proxy, NULL, PROXY_PASS, PROXY_PASS);
	}
}

/* ---------- while the broker does not read ---------- */

/* A loop that is not blocked notices that a worker dies, and starts another. */
static void expect_live_loop(struct run *run)
{
	pid_t workers[WORKERS], pid = proc_pid(run->proc);
	ck_assert_int_eq(watch_children(pid, "replier", workers, WORKERS), WORKERS);
	kill(workers[0], SIGKILL);
	proc_expect_gone(workers[0]);
	watch_expect_children(pid, "replier", WORKERS);
}

static void note_memory(struct run *run, long before)
{
	long drift = watch_memory_kib(proc_pid(run->proc)) - before;
	if (drift > run->tally->drift_kib)
		run->tally->drift_kib = drift;
	ck_assert_int_le(drift, MAX_KIB);
}

/* Wait a second. Under an alarm the pool without replies does a task in each. */
static void pass_second(struct run *run, enum kind kind)
{
	int64_t second = deadline_in(1000);
	if (kind == ALARM)
		await_plain(run, plain_done(run) + 1);
	poll(NULL, 0, deadline_left(second));
}

static void keep_fault(struct run *run, enum kind kind, long seconds)
{
	long memory = watch_memory_kib(proc_pid(run->proc)), plain = plain_done(run);
	long replied = account_witnessed(run->account);
	int descriptors = watch_descriptors(proc_pid(run->proc));
	begin_fault(run, kind);
	for (long i = 0; i < seconds && fault_next(run->tally); i++) {
		pass_second(run, kind);
		note_memory(run, memory);
	}
	run->at_work[kind] = plain_done(run) - plain;
	run->replied[kind] = account_witnessed(run->account) - replied;
	/* The outbox of the pool that replies is full, so it has stopped before the last task. */
	ck_assert_int_lt(replied + run->replied[kind], account_posted(run->account));
	if (kind == ALARM)
		expect_acks_to_flow(run);
	expect_live_loop(run);
	ck_assert_int_le(watch_descriptors(proc_pid(run->proc)), descriptors + SPREAD_FD);
	end_fault(run, kind);
}

static void await_consumers(const char *queue)
{
	int64_t deadline = deadline_in(PATIENCE);
	while (client_consumers(fixture.client, queue) != 1) {
		ck_assert_msg(deadline_left(deadline) > 0, "%s has no consumer", queue);
		poll(NULL, 0, 50);
	}
}

static void settle(struct run *run)
{
	await_consumers(fixture.queue);
	await_consumers(run->plain);
	account_await_settled(run->account);
	await_plain(run, run->plain_posted);
	broker_expect_messages(fixture.broker, run->plain, 0);
}

static void stop_supervisor(struct run *run, int exit_code)
{
	int64_t begun = deadline_now_ms();
	proc_signal(run->proc, SIGTERM);
	ck_assert_int_eq(proc_wait(run->proc), exit_code);
	int64_t took = deadline_now_ms() - begun;
	run->stop_ms = took > run->stop_ms ? took : run->stop_ms;
	watch_note_turns(run->proc, run->tally);
	fixture_free_program(run->proc);
}

static void suffer(struct run *run, enum kind kind, long seconds)
{
	run->proc = serve(run, kind);
	post_plain(run, PLAIN_FEW + (kind == ALARM ? seconds * PLAIN_RATE : 0));
	account_post(run->account, REPLIES, "r", REPLY_MS);
	account_await_progress(run->account, 1);
	keep_fault(run, kind, seconds);
	settle(run);
	/* The same, with a stop meanwhile. */
	post_plain(run, PLAIN_FEW);
	account_post(run->account, REPLIES, "r", REPLY_MS);
	account_await_progress(run->account, 1);
	begin_fault(run, kind);
	stop_supervisor(run, 75);
	end_fault(run, kind);
	run->proc = serve(run, kind);
	settle(run);
	stop_supervisor(run, 0);
	ck_assert_int_le(account_close(run->account, run->tally), 2 * PREFETCH);
	count_plain_ends(run);
}

static void tell(const struct run *run, const bool was_done[])
{
	char *note = run->tally->note;
	size_t size = sizeof run->tally->note;
	size_t used = (size_t)snprintf(note, size, "stopped in %lld ms at most (drain %d s)",
		(long long)run->stop_ms, DRAIN_S);
	for (enum kind kind = 0; kind < KINDS; kind++)
		if (was_done[kind])
			used += (size_t)snprintf(note + used, size - used,
				"; %s: %ld plain, %ld replying done", words[kind],
				run->at_work[kind], run->replied[kind]);
}

static void run(struct tally *tally)
{
	struct run run = {.tally = tally};
	bool is_short = fault_trials() < SHORT_S, was_done[KINDS] = {false};
	enum kind chosen = (enum kind)fault_random_below(KINDS);
	tally->unit = "s of it";
	fixture_use_own_broker();
	run.account = account_new(delays);
	run.proxy = proxy_start(broker_port(fixture.broker));
	init_plain(&run);
	for (enum kind kind = 0; kind < KINDS; kind++) {
		was_done[kind] = !is_short || kind == chosen;
		if (was_done[kind])
			suffer(&run, kind, is_short ? fault_trials() : fault_trials() / KINDS);
	}
	tell(&run, was_done);
	proxy_free(run.proxy);
	account_free(run.account);
	free(run.plain);
	free(run.plain_witness);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 9, .name = "broker stops reading", .few = 4, .full = 1800, .run = run});
}
