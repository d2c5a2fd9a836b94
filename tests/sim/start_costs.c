#include "sim/start_costs.h"

#include "sim/fail.h"
#include "sim/world.h"

#define WHOLE     1000 /* a processor */
#define SHARE_MIN 50
#define SHARE_MAX 3000
#define STEP      (5 * MTIME_MS) /* one more may start for each in which processors were idle */

/* All starts of a run cost the same, and more than a short one: the core does not let more of them
 * start at once because they are short. */
void start_costs_choose(struct world *world)
{
	static const mtime costs[] = {30 * MTIME_MS, 300 * MTIME_MS, 9 * MTIME_SECOND};

	world->start_cost = 0;
	if (world_wants(world, TROUBLE_STARTS, 150))
		world->start_cost =
			costs[random_below(&world->random, sizeof costs / sizeof *costs)];
}

void start_costs_begin(struct supervisor *supervisor)
{
	struct random *random = &supervisor->world->random;
	uint32_t share = SHARE_MIN + random_below(random, SHARE_MAX - SHARE_MIN);

	supervisor->share = supervisor->world->start_cost ? share : SLOTS_MAX * WHOLE;
	supervisor->idle = 0;
	supervisor->extra = 0;
	starts_init(&supervisor->starts, supervisor->share, 0);
}

static bool is_computing(const struct worker *worker)
{
	return worker->phase == WORKER_BOOTING && worker->cost > 0 && !worker->kill;
}

/* Call the function for each worker that computes, and return their number. */
static uint32_t each_computing(
	struct supervisor *supervisor, void (*call)(struct worker *, mtime), mtime argument)
{
	uint32_t count = 0;

	EACH_POOL(supervisor, runtime)
	{
		for (uint16_t i = 0; i < SLOTS_MAX; i++) {
			struct worker *worker = &runtime->workers.worker[i];

			if (!is_computing(worker))
				continue;
			count++;
			call(worker, argument);
		}
	}
	return count;
}

static void count_only(struct worker *worker, mtime argument)
{
	(void)worker;
	(void)argument;
}

static void wait(struct worker *worker, mtime span)
{
	worker->waited += span;
}

static void compute(struct worker *worker, mtime span)
{
	worker->cost = worker->cost > span ? worker->cost - span : 0;
}

static uint32_t processors_of(const struct supervisor *supervisor)
{
	return (supervisor->share + WHOLE - 1) / WHOLE;
}

/* Each start beyond the number of processors needs half a step in which one of them was idle. */
static void check_extra(struct supervisor *supervisor)
{
	mtime unit = supervisor->share < WHOLE ? supervisor->share : WHOLE;
	mtime step = STEP * WHOLE / unit;

	supervisor->extra++;
	sim_require(supervisor->extra * step * unit <= 2 * WHOLE * supervisor->idle,
		"%lld starts beyond %u processors, which were idle for %lld us",
		(long long)supervisor->extra, processors_of(supervisor),
		(long long)supervisor->idle);
}

/* A calm world has processors enough: workers that are replaced again and again all become ready.
 */
static mtime cost_of(const struct world *world)
{
	return world->calm ? 0 : world->start_cost;
}

void start_costs_spawn(struct pool_runtime *runtime, struct worker *worker)
{
	struct supervisor *supervisor = runtime->supervisor;

	if (each_computing(supervisor, count_only, 0) >= processors_of(supervisor))
		check_extra(supervisor);
	worker->cost = cost_of(runtime->world);
	worker->started = runtime->world->now;
}

/* In slices, because the share of each grows when one has finished. */
static void pass(struct supervisor *supervisor, mtime span)
{
	while (span > 0) {
		mtime slice = mtime_min(span, STEP);
		uint32_t count = each_computing(supervisor, count_only, 0);
		mtime each = count ? mtime_min(WHOLE, supervisor->share / count) : 0;

		if (count == 0)
			slice = span;
		supervisor->idle += slice * (supervisor->share - count * each) / WHOLE;
		each_computing(supervisor, wait, slice - slice * each / WHOLE);
		each_computing(supervisor, compute, slice * each / WHOLE);
		span -= slice;
	}
}

void start_costs_pass(struct world *world, mtime span)
{
	EACH_SUPERVISOR(world, supervisor)
	{
		if (supervisor->state == SUPERVISOR_DEAD)
			continue;
		if (world->calm)
			each_computing(supervisor, compute, MTIME_NEVER);
		pass(supervisor, span);
	}
}

void start_costs_look(struct supervisor *supervisor)
{
	mtime now = supervisor->world->now;

	if (starts_look_at(&supervisor->starts) <= now)
		starts_look(&supervisor->starts, now, supervisor->idle);
}

void start_costs_check_overdue(const struct pool_runtime *runtime, const struct worker *worker)
{
	mtime spent = runtime->world->now - worker->started - worker->waited;

	sim_require(worker->phase != WORKER_BOOTING || spent >= runtime->config.boot_limit,
		"a worker is over its boot limit after %lld us, of which it waited %lld",
		(long long)(spent + worker->waited), (long long)worker->waited);
}
