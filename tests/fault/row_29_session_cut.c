/* The connection of a pool with sessions is cut at a random byte under load, by end of file or by a
 * reset. What was unacked comes back in order, and what still runs is not run beside itself. */
#include "fault/account.h"
#include "fault/keyed.h"
#include "fault/proxy.h"
#include "fault/watch.h"

#define KEYS      50
#define LOAD      300
#define PREFETCH  64
#define PART      20 /* cuts, then the account is closed */
#define PATIENCE  20 /* ms without a cut: the queue may be empty */
#define IDLE_MAX  1500
#define HANDSHAKE 700 /* bytes, about: half of the cuts hit them */
#define WORK      12000
#define SETTINGS  "workers: 4, pipeline: 4, prefetch: 64, retry: {attempts: 100, delay: [100ms]}"

static const char *const names[] = {"wpool consume", "wpool publish"};

/* The next link of that name is cut at the byte. */
static void plan(struct proxy *proxy)
{
	struct proxy_plan plan = PROXY_CLEAN;
	long extent = fault_random_below(2) ? HANDSHAKE : WORK;
	plan.cut_at[fault_random_below(PROXY_WAYS)] = (uint64_t)fault_random_below(extent);
	plan.is_reset = fault_random_below(2);
	plan.is_sliced = fault_random_below(8) == 0;
	proxy_plan_next(proxy, &plan);
}

static void await_link(struct proxy *proxy, const char *name)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (proxy_links(proxy, name) != 1)
		fixture_poll(deadline, 1, "the connection is open again");
}

static void await_cut(struct proxy *proxy, struct keyed *keyed, long cuts)
{
	for (int idle = 0; proxy_cuts(proxy) < cuts; idle++) {
		if (idle == IDLE_MAX)
			fixture_fail("nothing flows, so nothing is cut");
		if (!proxy_await_cuts(proxy, cuts, PATIENCE) &&
			client_ready(fixture.client, fixture.queue) < LOAD)
			keyed_post(keyed, LOAD, "ddfsx", 1);
	}
}

static void run(struct tally *tally)
{
	struct keyed *keyed = keyed_new(KEYS);
	struct proxy *proxy = proxy_start(broker_port(fixture.broker));
	struct proc *proc =
		keyed_serve_by_proxy(proxy_port(proxy), "", SETTINGS, "takeover_delay: none");
	tally->unit = "cuts";
	keyed_await_consumer();
	long memory = watch_memory_kib(proc_pid(proc));
	bool goes_on = true;
	while (goes_on) {
		int cuts = 0;
		keyed_post(keyed, LOAD, "ddfsx", 1);
		for (; cuts < PART && (goes_on = fault_next(tally)); cuts++) {
			const char *name = names[fault_random_below(4) == 0];
			await_link(proxy, name);
			plan(proxy);
			proxy_cut(proxy, name, fault_random_below(2));
			await_cut(proxy, keyed, tally->trials);
		}
		keyed_await_settled();
		ck_assert_int_le(keyed_close(keyed, tally), 2 * cuts * PREFETCH);
	}
	tally->drift_kib = watch_memory_kib(proc_pid(proc)) - memory;
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	proxy_free(proxy);
	keyed_free(keyed);
}

int main(void)
{
	return fault_main(&(struct fault){.row = 29,
		.name = "sessions: connection cut",
		.few = 60,
		.full = 5000,
		.run = run});
}
