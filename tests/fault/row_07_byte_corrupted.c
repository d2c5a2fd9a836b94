/* Each byte from the broker is corrupted in turn: of the handshake and of the work, on the
 * consuming and on the publishing connection. A message may then have wrong contents, so ends are
 * not counted; but wpool survives, does not hang after the connection is closed, and serves. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/proxy.h"
#include "fault/watch.h"

#include <stdio.h>
#include <string.h>

#define LOAD     8
#define BATCH    40
#define BEYOND   400  /* bytes at most that pass after the wrong one; then the link is cut */
#define STAY_MS  700  /* wpool starts with the first address again after half a second */
#define PATIENCE 20   /* ms without a new link: the queue may be empty */
#define HANGING  1500 /* ms without one: it waits for bytes that will never come */
#define CALLS    50   /* at the end, on clean links */
#define MAX_KIB  16384

static const char *const delays[] = {"100ms", NULL};
static const char *const names[] = {"wpool consume", "wpool publish"};
#define NAMES (int)(sizeof names / sizeof *names)

struct run {
	struct tally *tally;
	struct account *account; /* posts the load; never closed */
	struct proxy *proxy;
	long extent[NAMES], stride[NAMES];
	long hanging; /* links that only our cut has ended */
};

static struct proc *serve(const struct proxy *proxy)
{
	return fault_serve_by_proxy(proxy_port(proxy), "?heartbeat=1&connection_timeout=1000",
		"workers: 2, pipeline: 2, prefetch: 8, retry: {attempts: 3, delay: [100ms]}");
}

/* A first connection with the load before it, from its first byte until all is settled. */
static struct proc *measure(struct run *run)
{
	account_post(run->account, LOAD, "drtx", 0);
	struct proc *proc = serve(run->proxy);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	account_await_settled(run->account);
	for (int i = 0; i < NAMES; i++) {
		run->extent[i] = (long)proxy_passed(run->proxy, names[i], PROXY_TO_CLIENT);
		ck_assert_int_gt(run->extent[i], 500);
		run->stride[i] = (run->extent[i] + BATCH) / BATCH;
	}
	return proc;
}

static size_t plan_batch(struct run *run, int which, long first)
{
	size_t count = 0;
	for (long at = first; at < run->extent[which] && fault_next(run->tally);
		at += run->stride[which], count++) {
		struct proxy_plan plan = PROXY_CLEAN;
		plan.corrupt_at[PROXY_TO_CLIENT] = (uint64_t)at;
		plan.mask = (uint8_t)(1 + fault_random_below(255));
		plan.cut_at[PROXY_TO_CLIENT] = (uint64_t)(at + 1 + fault_random_below(BEYOND));
		proxy_plan_next(run->proxy, &plan);
	}
	return count;
}

static void await_links(struct run *run, size_t count)
{
	for (int64_t deadline = deadline_in(HANGING); count > 0;) {
		if (proxy_await_plans(run->proxy, count - 1, PATIENCE)) {
			count--;
			deadline = deadline_in(HANGING);
			continue;
		}
		account_fill(run->account, LOAD, "drtx", 0);
		if (deadline_left(deadline) > 0)
			continue;
		/* Cut all links: one whose handshake hangs has no name yet. */
		run->hanging++;
		proxy_cut(run->proxy, NULL, true);
		deadline = deadline_in(HANGING);
	}
}

/* Only the last planned link, or the next one, may still be open; later links are clean. */
static void await_recovery(struct run *run)
{
	proxy_cut(run->proxy, NULL, false);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	account_post(run->account, 1, "d", STAY_MS);
	account_await_settled(run->account);
}

static bool corrupt_batch(struct run *run, int which, long first)
{
	size_t count = plan_batch(run, which, first);
	if (count == 0)
		return false;
	account_fill(run->account, LOAD, "drtx", 0);
	proxy_cut(run->proxy, names[which], false);
	await_links(run, count);
	await_recovery(run);
	return true;
}

static void corrupt_all(struct run *run)
{
	for (long first = 0;; first++) {
		bool is_more = false;
		for (int which = 0; which < NAMES; which++) {
			/* Spread over all parts, because not all bytes may be wanted. */
			long at = run->stride[which] % 7 ? first * 7 % run->stride[which] : first;
			if (first >= run->stride[which])
				continue;
			if (!corrupt_batch(run, which, at))
				return;
			is_more = true;
		}
		if (!is_more)
			return;
	}
}

static void make_calls(struct tally *tally)
{
	for (int i = 0; i < CALLS; i++) {
		struct message *reply = client_call(fixture.client, fixture.queue,
			&(struct letter){.body = "well?", .headers = {{"X-Status", "201"}}});
		tally->asked++;
		tally->done += strcmp(reply->body, "well?") == 0;
		message_free(reply);
	}
}

static void run(struct tally *tally)
{
	struct run run = {.tally = tally};
	tally->unit = "bytes";
	/* A private broker: a wrong byte in a delivery's tag is acked with it. */
	fixture_use_own_broker();
	run.account = account_new(delays);
	run.proxy = proxy_start(broker_port(fixture.broker));
	struct proc *proc = measure(&run);
	long memory = watch_memory_kib(proc_pid(proc));
	corrupt_all(&run);
	ck_assert(proc_is_alive(proc));
	tally->drift_kib = watch_memory_kib(proc_pid(proc)) - memory;
	ck_assert_int_le(tally->drift_kib, MAX_KIB);
	make_calls(tally);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	snprintf(tally->note, sizeof tally->note,
		"%s of those that come: consume %ld, publish %ld; %ld links waited until cut; asked: calls at the end",
		tally->trials >= run.extent[0] + run.extent[1] ? "each" : "some", run.extent[0],
		run.extent[1], run.hanging);
	proxy_free(run.proxy);
	account_free(run.account);
}

int main(void)
{
	return fault_main(&(struct fault){.row = 7,
		.name = "byte from the broker corrupted",
		.few = 80,
		.full = 1000000, /* it ends with the last byte */
		.run = run});
}
