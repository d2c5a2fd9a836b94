/* A throttle that three supervisors share, in worlds drawn from seeds (shared_world.h). What must
 * hold in true time, whatever happens: no half-open window of `period` has more than `limit` starts
 * of a key, by a plain list of all starts. When faults are over, all tasks start, and then there
 * are few requests. Without faults no task waits for long when it could start.
 *
 * WPOOL_SEED=n: this seed alone; WPOOL_SEEDS=n: so many, from 1. */
#include "core/throttle/leader.h"
#include "unit/support/core/shared_world.h"

#include <stdio.h>

#define SEEDS 2000

static struct shared_world world; /* of the run */

/* ---------- plans ---------- */

static mtime draw(struct random *random, mtime min, mtime max)
{
	return min + (mtime)(random_next(random) % (uint64_t)(max - min + 1));
}

static uint32_t pick(struct random *random, uint32_t min, uint32_t max)
{
	return (uint32_t)draw(random, min, max);
}

/* A short one as probably as a long one, and short enough for a leader to learn of its role. */
static mtime draw_delay(struct random *random, mtime period)
{
	mtime max = mtime_min(100 * MTIME_MS, period / 20);
	mtime delay = 100 << pick(random, 0, 10);
	return mtime_min(delay + draw(random, 0, delay), max);
}

static void plan_keys(struct shared_plan *plan, struct random *random)
{
	plan->keys = random_chance(random, 400) ? 1 : pick(random, 2, SHARED_KEYS);
	plan->max_keys = plan->keys;
	if (plan->keys > 1 && random_chance(random, 300))
		plan->max_keys = pick(random, 1, plan->keys - 1);
}

static void plan_figures(struct shared_plan *plan, struct random *random)
{
	plan->limit = random_chance(random, 300) ? pick(random, 1, 3) : pick(random, 1, 30);
	plan->period = draw(random, 500 * MTIME_MS,
		random_chance(random, 500) ? MTIME_SECOND : 5 * MTIME_SECOND);
	plan->new_limit = plan->limit;
	plan->new_period = plan->period;
	plan->changes = random_chance(random, 100);
	if (plan->changes) {
		plan->new_limit = pick(random, 1, 30);
		if (random_chance(random, 500))
			plan->new_period = draw(random, 500 * MTIME_MS, 5 * MTIME_SECOND);
	}
}

static void plan_faults(struct shared_plan *plan, struct random *random)
{
	if (random_chance(random, 250)) {
		plan->slow = pick(random, 1, 100);
		plan->slow_max = draw(random, MTIME_MS, 2 * MTIME_SECOND);
	}
	if (random_chance(random, 250))
		plan->lost = pick(random, 1, 100);
	if (random_chance(random, 200))
		plan->stalled = pick(random, 1, 50);
	if (random_chance(random, 300))
		return;
	if (random_chance(random, 150)) {
		plan->flaps = plan->suspects = true;
		plan->faults = pick(random, 8, 20);
		return;
	}
	plan->kills = random_chance(random, 400);
	plan->stops = random_chance(random, 400);
	plan->cuts = random_chance(random, 400);
	plan->suspects = random_chance(random, 300);
	if (plan->kills || plan->stops || plan->cuts || plan->suspects)
		plan->faults = pick(random, 1, 8);
}

static void plan_leaves(struct shared_plan *plan, struct random *random)
{
	plan->away_max = random_chance(random, 500) ? MTIME_SECOND : 2 * plan->period;
	plan->leaves = random_chance(random, 600);
	if (!plan->leaves)
		return;
	plan->faults += pick(random, 1, 8);
	if (random_chance(random, 400))
		return;
	if (random_chance(random, 400))
		plan->leave_lost = pick(random, 1, 150);
	if (random_chance(random, 600))
		plan->leave_late = pick(random, 1, 400);
	if (random_chance(random, 400))
		plan->leave_stopped = pick(random, 1, 200);
	if (random_chance(random, 500))
		plan->leave_hit = pick(random, 1, 300);
	plan->changes |= random_chance(random, 150);
}

static struct shared_plan plan_of(uint64_t seed)
{
	struct random random;
	struct shared_plan plan = {.seed = seed};
	random_init(&random, seed * 77 + 5);
	plan_figures(&plan, &random);
	plan_keys(&plan, &random);
	plan.delay = draw_delay(&random, mtime_min(plan.period, plan.new_period));
	plan.load = pick(&random, 10, random_chance(&random, 500) ? 80 : 250);
	plan.burst = random_chance(&random, 600) ? 1 : pick(&random, 1, 10);
	plan_faults(&plan, &random);
	plan_leaves(&plan, &random);
	if (plan.flaps)
		plan.load = pick(&random, 100, 250);
	plan.work = mtime_max(plan.period, plan.new_period) *
		    (plan.leaves ? draw(&random, 7, 12) : draw(&random, 4, 7));
	return plan;
}

/* ---------- windows ---------- */

/* A start after its lease is the one exception: windows that contain one are not checked. */
static void check_windows(uint32_t key, uint32_t limit, mtime period, mtime from, mtime until)
{
	const struct shared_start *starts = world.starts[key];
	uint32_t first = 0, late = 0;
	for (uint32_t i = 0; i < world.start_count[key]; i++) {
		late += starts[i].is_late;
		while (starts[i].at - starts[first].at >= period || starts[first].at < from) {
			if (first == i)
				break;
			late -= starts[first++].is_late;
		}
		if (starts[i].at >= from && starts[i].at < until && late == 0 && i - first >= limit)
			ck_abort_msg(
				"key %u: %u starts instead of %u from %ld to %ld us: WPOOL_SEED=%lu %s",
				key, i - first + 1, limit, (long)starts[first].at,
				(long)starts[i].at, (unsigned long)world.plan.seed,
				unit_own_path());
	}
}

/* With other figures: at any time the weaker of both; and the new ones alone in windows that begin
 * when all members have them and what was granted before has ended, up to the end of a process,
 * which takes its knowledge along. */
static void check_limits(void)
{
	const struct shared_plan *plan = &world.plan;
	for (uint32_t key = 0; key < plan->keys; key++) {
		check_windows(key, (uint32_t)mtime_max(plan->limit, plan->new_limit),
			mtime_min(plan->period, plan->new_period), 0, MTIME_NEVER);
		if (world.agreed_at != MTIME_NEVER)
			check_windows(key, plan->new_limit, plan->new_period,
				world.agreed_at + LEASE_MAX, world.agreed_until);
	}
}

/* The members count and report them, except where keys are forgotten meanwhile. */
static void check_late_starts(void)
{
	const struct shared_plan *plan = &world.plan;
	if (plan->keys > plan->max_keys)
		return;
	SHARED_CHECK(&world, shared_late_facts(&world) == world.late_of_turns);
	if (!plan->kills && !plan->leaves)
		SHARED_CHECK(&world, world.late_heard >= world.late_of_turns);
}

/* ---------- the end ---------- */

static uint32_t rounds_of(uint32_t tasks)
{
	return tasks / (uint32_t)mtime_min(world.plan.limit, world.plan.new_limit) + 1;
}

/* In the worst case an old leader believes in itself for a period, a new one is silent for a period
 * and a lease, and one period is lost to starts that were granted and not used. Then each period
 * and lease `limit` tasks of a key start, and if there are more keys than max_keys, one key after
 * the other. */
static mtime time_to_finish(void)
{
	const struct shared_plan *plan = &world.plan;
	mtime period = mtime_max(plan->period, plan->new_period);
	uint32_t longest = 0, together = 0;
	for (uint32_t key = 0; key < plan->keys; key++) {
		uint32_t waiting = 0;
		for (uint32_t i = 0; i < SHARED_MEMBERS; i++)
			waiting += world.members[i].waiting[key];
		longest = (uint32_t)mtime_max(longest, rounds_of(waiting));
		together += rounds_of(waiting);
	}
	uint32_t rounds = plan->keys > plan->max_keys ? together : longest;
	mtime lease = mtime_max(lease_bound(period), mtime_min(8 * plan->delay, LEASE_MAX));
	mtime asked = 250 * MTIME_MS + 8 * plan->delay;
	return 3 * (period + LEASE_MAX) + rounds * (period + lease + asked);
}

/* Only the one that leads sends requests: four in the time in which one must come back. The others
 * ask whether there are other figures, each second at most. */
static void check_quiet(void)
{
	const struct shared_plan *plan = &world.plan;
	mtime period = mtime_min(plan->period, plan->new_period);
	uint32_t before[SHARED_MEMBERS], senders = 0;
	shared_run(&world, world.now + 2 * mtime_max(plan->period, plan->new_period));
	for (uint32_t i = 0; i < SHARED_MEMBERS; i++)
		before[i] = world.members[i].requests;
	shared_run(&world, world.now + 5 * MTIME_SECOND);
	for (uint32_t i = 0; i < SHARED_MEMBERS; i++) {
		uint32_t sent = world.members[i].requests - before[i];
		SHARED_CHECK(&world, sent <= 4 * (5 * MTIME_SECOND / period + 1) + 6);
		senders += sent > 6;
	}
	SHARED_CHECK(&world, senders <= 1);
}

static void start_all(mtime end)
{
	while (shared_waiting(&world) > 0 && world.now < end)
		shared_run(&world, world.now + 100 * MTIME_MS);
	SHARED_CHECK(&world, shared_waiting(&world) == 0);
}

static bool has_new_figures(uint32_t member)
{
	struct shared_figures figures = member_figures(world.members[member].member);
	return figures.limit == world.plan.new_limit && figures.period == world.plan.new_period;
}

/* An operator's figures reach the leader without a task, and each member with one, unless the only
 * process that knows them ends. */
static void check_figures(void)
{
	if (world.changed_at == MTIME_NEVER || world.agreed_until != MTIME_NEVER)
		return;
	shared_run(&world, world.now + MTIME_SECOND);
	for (uint32_t i = 0; i < world.consumer_count; i++)
		if (world.consumers[i].channel == world.active)
			SHARED_CHECK(&world, has_new_figures(world.consumers[i].member));
	shared_task_for_each(&world);
	shared_run(&world, world.now + 1);
	start_all(world.now + time_to_finish());
	for (uint32_t i = 0; i < SHARED_MEMBERS; i++)
		SHARED_CHECK(&world, has_new_figures(i));
}

static void finish(void)
{
	mtime calm_at = mtime_max(world.plan.work + world.plan.slow_max, world.faults_end);
	shared_run(&world, calm_at);
	start_all(calm_at + time_to_finish());
	check_figures();
	check_quiet();
}

/* Of a seed that is run alone. */
static void print_plan(const struct shared_plan *plan)
{
	printf("seed %lu: limit %u in %ld us, then %u in %ld us; %u of %u keys; hops %ld us, slow %u "
	       "(%ld us), lost %u, stalled %u; load %u %%, burst %u; faults %u: kills %d, stops %d, "
	       "cuts %d, suspects %d, leaves %d (lost %u, late %u, stopped %u, hit %u); work %ld us\n",
		plan->seed, plan->limit, plan->period, plan->new_limit, plan->new_period,
		plan->keys, plan->max_keys, plan->delay, plan->slow, plan->slow_max, plan->lost,
		plan->stalled, plan->load, plan->burst, plan->faults, plan->kills, plan->stops,
		plan->cuts, plan->suspects, plan->leaves, plan->leave_lost, plan->leave_late,
		plan->leave_stopped, plan->leave_hit, plan->work);
	fflush(stdout);
}

static void run(const struct shared_plan *plan)
{
	shared_init(&world, plan);
	shared_run(&world, plan->work);
	finish();
	check_limits();
	check_late_starts();
}

struct totals {
	uint64_t starts, requests, late, faults[SHARED_FAULTS], with_late, handed, inherited;
};

static void add_to(struct totals *totals)
{
	for (uint32_t key = 0; key < world.plan.keys; key++)
		totals->starts += world.start_count[key];
	totals->requests += world.requests;
	totals->late += world.late;
	totals->with_late += world.late > 0;
	totals->handed += world.handed;
	totals->inherited += world.inherited;
	for (int i = 0; i < SHARED_FAULTS; i++)
		totals->faults[i] += world.faults[i];
}

START_TEST(no_window_has_too_many_starts_and_all_tasks_start)
{
	const char *one = getenv("WPOOL_SEED"), *more = getenv("WPOOL_SEEDS");
	uint64_t first = one ? strtoul(one, NULL, 10) : 1;
	uint64_t seeds = more ? strtoul(more, NULL, 10) : one ? 1 : SEEDS;
	struct totals totals = {0};
	for (uint64_t seed = first; seed < first + seeds; seed++) {
		struct shared_plan plan = plan_of(seed);
		if (one && !more)
			print_plan(&plan);
		run(&plan);
		add_to(&totals);
		shared_release(&world);
	}
	printf("%lu starts, %lu requests, %lu late in %lu seeds; %lu kills, %lu stops, %lu cuts, "
	       "%lu suspicions, %lu leaves with %lu handovers, of which %lu made a leader\n",
		totals.starts, totals.requests, totals.late, totals.with_late, totals.faults[0],
		totals.faults[1], totals.faults[2], totals.faults[3], totals.faults[4],
		totals.handed, totals.inherited);
	/* The runs reach what they are for. */
	for (int i = 0; i < SHARED_FAULTS && seeds >= SEEDS; i++)
		ck_assert_uint_gt(totals.faults[i], seeds / 5);
	if (seeds < SEEDS)
		return;
	ck_assert_uint_gt(totals.late, seeds / 20);
	ck_assert_uint_gt(totals.inherited, seeds / 10);
	ck_assert_uint_gt(totals.handed, totals.inherited);
}
END_TEST

/* ---------- without faults ---------- */

static struct shared_plan calm_plan(uint64_t seed, uint32_t load, mtime delay)
{
	struct shared_plan plan = {
		.seed = seed, .keys = 1, .max_keys = 1, .burst = 1, .load = load, .delay = delay};
	struct random random;
	random_init(&random, seed);
	plan.limit = plan.new_limit = pick(&random, 1, 30);
	plan.period = plan.new_period = draw(&random, SHARED_PERIOD_MIN,
		random_chance(&random, 500) ? MTIME_SECOND : 4 * MTIME_SECOND);
	plan.work = 12 * plan.period;
	return plan;
}

/* Of the i-th start of all, since the first moment that the limit and the i-th task allow. */
static mtime wait_of(uint32_t i)
{
	const struct shared_plan *plan = &world.plan;
	mtime may_at = mtime_max(world.arrivals[0][i], world.led_at);
	if (i >= plan->limit)
		may_at = mtime_max(may_at, world.starts[0][i - plan->limit].at + plan->period);
	return world.starts[0][i].at - may_at;
}

static mtime longest_wait(void)
{
	mtime longest = 0;
	for (uint32_t i = 0; i < world.start_count[0]; i++)
		longest = mtime_max(longest, wait_of(i));
	return longest;
}

/* As a member measures it: four times the round trip of four hops. */
static mtime longest_lease(const struct shared_plan *plan)
{
	return mtime_max(LEASE_MIN, mtime_min(16 * plan->delay, lease_bound(plan->period)));
}

/* A request goes out at most 3/4 of a lease after the one before, and is answered a round trip
 * later. */
START_TEST(far_below_the_limit_a_task_waits_for_a_lease_at_most)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct shared_plan plan = calm_plan(seed, 5, 200 + 10 * (mtime)seed);
		plan.limit = plan.new_limit = plan.limit / 2 + 15;
		shared_init(&world, &plan);
		shared_run(&world, plan.work);
		SHARED_CHECK(&world, longest_wait() <= longest_lease(&plan) + 4 * plan.delay);
		shared_release(&world);
	}
}
END_TEST

/* At worst all that is left was granted to a member that does not use it, and what comes back just
 * misses the one that waits, who asks again when a start leaves the window. */
START_TEST(at_any_load_a_task_waits_for_a_period_and_some_leases_at_most)
{
	for (uint64_t seed = 1; seed <= 150; seed++) {
		struct shared_plan plan =
			calm_plan(seed, 20 + (uint32_t)seed, 200 + 10 * (mtime)seed);
		shared_init(&world, &plan);
		shared_run(&world, plan.work);
		SHARED_CHECK(&world, longest_wait() <= plan.period + 4 * longest_lease(&plan));
		shared_release(&world);
	}
}
END_TEST

/* What was granted and not used comes back, and is found again. */
START_TEST(at_half_of_the_limit_one_of_a_hundred_waits_longer_than_three_leases)
{
	uint32_t starts = 0, longer = 0;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct shared_plan plan = calm_plan(seed, 50, 200 + 10 * (mtime)seed);
		shared_init(&world, &plan);
		shared_run(&world, plan.work);
		for (uint32_t i = 0; i < world.start_count[0]; i++)
			longer += wait_of(i) > 3 * longest_lease(&plan);
		starts += world.start_count[0];
		shared_release(&world);
	}
	ck_assert_uint_gt(starts, 5000);
	ck_assert_uint_le(longer, starts / 100);
}
END_TEST

/* A start counts for a period and a lease, and its place is asked for a moment later. */
START_TEST(far_above_the_limit_nine_tenths_of_it_start)
{
	for (uint32_t limit = 1; limit <= 30; limit++) {
		struct shared_plan plan = calm_plan(limit, 300, 1200);
		plan.limit = plan.new_limit = limit;
		plan.period = plan.new_period = MTIME_SECOND;
		plan.work = 13 * MTIME_SECOND;
		shared_init(&world, &plan);
		shared_run(&world, 3 * MTIME_SECOND);
		uint32_t before = world.start_count[0];
		uint64_t requests = world.requests;
		shared_run(&world, 13 * MTIME_SECOND);
		uint32_t starts = world.start_count[0] - before;
		requests = world.requests - requests;
		SHARED_CHECK(&world, starts >= 9 * limit && starts <= 10 * limit);
		SHARED_CHECK(&world, requests <= 3 * starts + 10 * 8);
		shared_release(&world);
	}
}
END_TEST

/* One that answers later than a tenth of the period: the lease grows with it. */
START_TEST(with_a_slow_broker_half_of_the_limit_starts)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct shared_plan plan = calm_plan(seed, 300, 0);
		plan.delay = plan.period / 20;
		shared_init(&world, &plan);
		shared_run(&world, 6 * plan.period);
		uint32_t before = world.start_count[0];
		shared_run(&world, 12 * plan.period);
		SHARED_CHECK(&world, world.start_count[0] - before >= 3 * plan.limit);
		check_limits();
		shared_release(&world);
	}
}
END_TEST

/* ---------- who leads ---------- */

/* The first leader is passed over for two seconds, leads for a little longer than two, and is
 * passed over again; it learns of neither, and nor does the one that leads meanwhile. */
START_TEST(a_new_leader_notices_that_a_former_one_led_in_its_silence)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct shared_plan plan = calm_plan(seed, 300, 1000);
		plan.period = plan.new_period = 4 * MTIME_SECOND;
		plan.work = 20 * MTIME_SECOND;
		shared_init(&world, &plan);
		shared_suspect_at(&world, 8000 * MTIME_MS, 10050 * MTIME_MS);
		shared_suspect_at(&world, 10100 * MTIME_MS, 12150 * MTIME_MS);
		shared_suspect_at(&world, 12200 * MTIME_MS, 19000 * MTIME_MS);
		shared_run(&world, plan.work);
		check_limits();
		shared_release(&world);
	}
}
END_TEST

START_TEST(a_leader_that_lost_the_role_gets_it_back_by_no_longer_period)
{
	struct throttle_figures figures = {.limit = 1, .period = MTIME_SECOND, .max_keys = 1};
	struct leader *leader = leader_new(&figures, 1, 1);
	ck_assert_ptr_nonnull(leader);
	mtime now = SHARED_PERIOD_MAX;
	for (mtime end = now + 3 * MTIME_SECOND; now < end; now += 100 * MTIME_MS)
		ck_assert_int_eq(leader_prove(leader, now, now), RC_OK);
	ck_assert(leader_is_leading(leader, now + 500 * MTIME_MS));
	ck_assert(!leader_is_silent(leader, now + 500 * MTIME_MS));
	ck_assert(!leader_is_leading(leader, now + 1500 * MTIME_MS));
	figures.period = 10 * MTIME_SECOND;
	leader_configure(leader, &figures);
	ck_assert(!leader_is_leading(leader, now + 1500 * MTIME_MS));
	leader_free(leader);
}
END_TEST

/* ---------- leaders that leave in order ---------- */

/* Ten hops of the exchange. Then a task whose request was lost, as it came to the one that left,
 * asks again after 250 ms, and is granted its start within some leases. */
static mtime change_max(const struct shared_plan *plan)
{
	return 12 * plan->delay + 250 * MTIME_MS + 4 * longest_lease(plan);
}

static struct shared_plan leaving_plan(uint64_t seed, uint32_t load)
{
	struct shared_plan plan = calm_plan(seed, load, 200 + 10 * (mtime)seed);
	plan.limit = plan.new_limit = 30;
	plan.period = plan.new_period = 4 * MTIME_SECOND;
	plan.work = 5 * plan.period;
	plan.away_max = 50 * MTIME_MS;
	return plan;
}

/* Tasks come all the time, so requests do, too: also while the next leader knows nothing yet. */
START_TEST(after_a_leader_that_leaves_a_task_waits_for_some_leases)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct shared_plan plan = leaving_plan(seed, 10 + (uint32_t)(seed % 3) * 20);
		uint32_t due[SHARED_MEMBERS], leaver, next;
		shared_init(&world, &plan);
		shared_run(&world, 3 * plan.period + 50 * MTIME_MS * (mtime)seed);
		leaver = shared_leave_now(&world);
		shared_task_for_each(&world);
		shared_run(&world, world.now + 1);
		for (uint32_t i = 0; i < SHARED_MEMBERS; i++)
			due[i] = world.members[i].started + world.members[i].waiting[0];
		shared_run(&world, world.now + change_max(&plan));
		next = shared_active(&world);
		SHARED_CHECK(&world, next != leaver && shared_is_granting(&world, next));
		SHARED_CHECK(&world, world.inherited == 1);
		for (uint32_t i = 0; i < SHARED_MEMBERS; i++)
			SHARED_CHECK(&world, i == leaver || world.members[i].started >= due[i]);
		shared_run(&world, plan.work);
		check_limits();
		shared_release(&world);
	}
}
END_TEST

/* As in a rolling restart, a leader leaves soon after it has inherited; the limit holds and nothing
 * waits for a period. */
START_TEST(leaders_may_leave_one_after_the_other)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct shared_plan plan = leaving_plan(seed, 60);
		mtime between = 300 * MTIME_MS + 20 * MTIME_MS * (mtime)(seed % 20);
		shared_init(&world, &plan);
		shared_run(&world, 3 * plan.period);
		for (uint32_t i = 1; i <= 10; i++) {
			shared_leave_now(&world);
			shared_run(&world, world.now + between);
			SHARED_CHECK(&world, world.inherited == i);
			SHARED_CHECK(&world, shared_is_granting(&world, shared_active(&world)));
		}
		start_all(world.now + plan.period);
		check_limits();
		shared_release(&world);
	}
}
END_TEST

static Suite *shared_random_suite(void)
{
	Suite *suite = suite_create("shared_random");
	TCase *runs = tcase_create("runs");
	tcase_set_timeout(runs, 120);
	tcase_add_test(runs, no_window_has_too_many_starts_and_all_tasks_start);
	suite_add_tcase(suite, runs);
	UNIT_CASE(suite, "calm", far_below_the_limit_a_task_waits_for_a_lease_at_most,
		at_any_load_a_task_waits_for_a_period_and_some_leases_at_most,
		at_half_of_the_limit_one_of_a_hundred_waits_longer_than_three_leases,
		far_above_the_limit_nine_tenths_of_it_start,
		with_a_slow_broker_half_of_the_limit_starts);
	UNIT_CASE(suite, "leaders", a_new_leader_notices_that_a_former_one_led_in_its_silence,
		a_leader_that_lost_the_role_gets_it_back_by_no_longer_period);
	UNIT_CASE(suite, "leaves", after_a_leader_that_leaves_a_task_waits_for_some_leases,
		leaders_may_leave_one_after_the_other);
	return suite;
}

UNIT_MAIN(shared_random_suite)
