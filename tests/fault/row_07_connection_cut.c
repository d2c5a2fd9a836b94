/* A connection is cut after every byte of its handshake and of its work: the consuming and the
 * publishing connection, in both directions. wpool opens the next connection, which is cut at
 * another byte, while tasks of every kind flow. After each batch of cuts the connections are left
 * alone until all tasks have ended, and the ends are counted. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/proxy.h"
#include "fault/watch.h"

#include <stdio.h>
#include <string.h>

#define LOAD     8 /* messages, two of each kind, which every link meets */
#define PREFETCH 8
#define BATCH    48 /* cuts between two counts; less than the addresses of the proxy */
/* After a connection of more than half a second, wpool starts with the first address again. */
#define STAY_MS    700
#define SPREAD_FD  4
#define PATIENCE   20  /* ms without a cut: the queue may be empty */
#define IDLE_LIMIT 500 /* of them in a row are too many */

static const char *const delays[] = {"100ms", NULL};
static const char *const names[] = {"wpool consume", "wpool publish"};

/* Where a connection may be cut: which one, which way, and how much flows there. */
struct place {
	const char *name;
	enum proxy_way way;
	long extent;  /* bytes of the handshake and of the work of one load */
	long stride;  /* a batch takes every stride-th byte */
	long *firsts; /* of its batches, shuffled */
	long batches; /* done */
};

struct run {
	struct tally *tally;
	struct account *account;
	struct proxy *proxy;
	struct place places[2 * PROXY_WAYS];
	long repeats_allowed;
};

static struct proc *serve(const struct proxy *proxy)
{
	char *settings = scratch_text("workers: 2, pipeline: 2, prefetch: %d, declare: on, "
				      "retry: {attempts: 3, delay: [100ms]}",
		PREFETCH);
	struct proc *proc = fault_serve_by_proxy(proxy_port(proxy), "", settings);
	free(settings);
	return proc;
}

/* A queue that wpool declares has no delivery limit. RabbitMQ 4.0 sets one of 20 by default, and
 * drops a message that is delivered more often. */
static void let_wpool_declare_queue(struct proxy *proxy)
{
	client_delete(fixture.client, fixture.queue);
	struct proc *proc = serve(proxy);
	proc_expect(proc, "consuming");
	fixture_stop(proc);
	fixture_free_program(proc);
}

/* ---------- how much flows ---------- */

static void shuffle(long numbers[], long count)
{
	for (long i = count; i > 1; i--) {
		long j = fault_random_below(i), kept = numbers[i - 1];
		numbers[i - 1] = numbers[j];
		numbers[j] = kept;
	}
}

static void init_place(struct place *place, const struct proxy *proxy, const char *name, int way)
{
	*place = (struct place){.name = name, .way = (enum proxy_way)way};
	place->extent = (long)proxy_passed((struct proxy *)(uintptr_t)proxy, name, place->way);
	ck_assert_int_gt(place->extent, 500);
	place->stride = (place->extent + BATCH) / BATCH;
	place->firsts = calloc((size_t)place->stride, sizeof *place->firsts);
	ck_assert_ptr_nonnull(place->firsts);
	for (long i = 0; i < place->stride; i++)
		place->firsts[i] = i;
	shuffle(place->firsts, place->stride);
}

/* A first connection with the load before it, from its first byte until all is settled. */
static struct proc *measure(struct run *run)
{
	account_post(run->account, LOAD, "drtx", 0);
	struct proc *proc = serve(run->proxy);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	account_await_settled(run->account);
	for (int i = 0; i < 2 * PROXY_WAYS; i++)
		init_place(&run->places[i], run->proxy, names[i / 2], i % 2);
	return proc;
}

/* ---------- cuts ---------- */

static long plan_batch(struct run *run, const struct place *place)
{
	long count = 0;
	for (long at = place->firsts[place->batches]; at <= place->extent && fault_next(run->tally);
		at += place->stride, count++) {
		struct proxy_plan plan = PROXY_CLEAN;
		plan.cut_at[place->way] = (uint64_t)at;
		plan.is_reset = fault_random_below(2);
		plan.is_sliced = fault_random_below(8) == 0;
		proxy_plan_next(run->proxy, &plan);
	}
	return count;
}

/* The queue never stays empty while a link waits for its last bytes. */
static void await_cuts(struct run *run, long count)
{
	for (int idle = 0; proxy_cuts(run->proxy) < count; idle++) {
		long before = proxy_cuts(run->proxy);
		ck_assert_msg(
			idle < IDLE_LIMIT, "%ld of %ld cuts, and nothing moves", before, count);
		if (proxy_await_cuts(run->proxy, before + 1, PATIENCE))
			idle = 0;
		else
			account_fill(run->account, LOAD, "drtx", 0);
	}
}

static void check_batch(struct run *run)
{
	client_expect_consumers(fixture.client, fixture.queue, 1);
	account_post(run->account, 1, "d", STAY_MS);
	account_await_settled(run->account);
	ck_assert_int_le(account_close(run->account, run->tally), run->repeats_allowed);
	run->repeats_allowed = 0;
}

/* Return whether more cuts are wanted. */
static bool cut_batch(struct run *run, struct place *place)
{
	long before = proxy_cuts(run->proxy), count = plan_batch(run, place);
	if (count > 0) {
		account_fill(run->account, LOAD, "drtx", 0);
		proxy_cut(run->proxy, place->name, fault_random_below(2));
		await_cuts(run, before + count);
		run->repeats_allowed += (count + 1) * PREFETCH;
		check_batch(run);
	}
	place->batches++;
	return count > 0;
}

static bool is_more_to_cut(struct run *run)
{
	bool is_more = false;
	for (int i = 0; i < 2 * PROXY_WAYS; i++) {
		struct place *place = &run->places[i];
		if (place->batches < place->stride && !cut_batch(run, place))
			return false;
		is_more |= place->batches < place->stride;
	}
	return is_more;
}

static void note_extent(struct run *run)
{
	long extent = 0;
	for (int i = 0; i < 2 * PROXY_WAYS; i++) {
		extent += run->places[i].extent + 1;
		free(run->places[i].firsts);
	}
	snprintf(run->tally->note, sizeof run->tally->note,
		"%s of the bytes that flow: consume %ld out, %ld in, publish %ld out, %ld in",
		run->tally->trials >= extent ? "each" : "some", run->places[0].extent,
		run->places[1].extent, run->places[2].extent, run->places[3].extent);
}

static void run(struct tally *tally)
{
	struct run run = {.tally = tally};
	tally->unit = "cuts";
	run.account = account_new(delays);
	run.proxy = proxy_start(broker_port(fixture.broker));
	let_wpool_declare_queue(run.proxy);
	struct proc *proc = measure(&run);
	pid_t pid = proc_pid(proc);
	long memory = watch_memory_kib(pid);
	int descriptors = watch_descriptors(pid);
	while (is_more_to_cut(&run))
		;
	ck_assert_int_le(watch_descriptors(pid), descriptors + SPREAD_FD);
	tally->drift_kib = watch_memory_kib(pid) - memory;
	ck_assert(proc_is_alive(proc));
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	note_extent(&run);
	proxy_free(run.proxy);
	account_free(run.account);
}

int main(void)
{
	return fault_main(&(struct fault){.row = 7,
		.name = "connection cut at any byte",
		.few = 192,
		.full = 1000000, /* it ends with the last byte */
		.run = run});
}
