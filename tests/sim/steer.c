#include "sim/steer.h"

#include "core/pool_internal.h"
#include "sim/fail.h"
#include "sim/supervisor.h"

#define KILLS_IN_1000 2

/* ---------- what is expected ---------- */

static bool is_on_its_way_out(const struct slot *slot)
{
	return slot_is_leaving(slot) && slot->state != LIFE_RETIRED;
}

static uint32_t leaving_of(const struct pool *pool)
{
	uint32_t leaving = 0;

	for (uint32_t i = 0; i < pool->slots.all.count; i++)
		leaving |= (uint32_t)is_on_its_way_out(slots_at(&pool->slots, i)) << i;
	return leaving;
}

/* The number of workers that take tasks and are not to leave. */
static uint32_t strength_of(const struct pool_runtime *runtime)
{
	uint32_t strength = 0;

	for (uint16_t i = 0; i < runtime->pool->slots.all.count; i++)
		strength += workers_is_taking(&runtime->workers, i) &&
			    !slot_is_leaving(slots_at(&runtime->pool->slots, i));
	return strength;
}

/* So long, though some tasks may start meanwhile. */
#define CLOSED_MIN (2 * MTIME_MINUTE)

static bool is_closed(const struct pool *pool)
{
	return throttling_is_closed(&pool->tasks.dispatch.throttling);
}

static bool is_idle_for_nothing(const struct pool *pool)
{
	return !is_closed(pool) && pool->context.phase == POOL_RUNS && pool->slots.ready &&
	       !pool->tasks.is_standby && pool->tasks.source.open == 0 &&
	       pool->tasks.source.request != SOURCE_CONSUME &&
	       !(pool->tasks.sessions && pool->tasks.source.state == SOURCE_IS_CLOSING);
}

/* At the end of a turn only a restart lets a worker leave: one at a time, when another is ready. */
void steer_check(struct pool_runtime *runtime)
{
	struct steering *steering = &runtime->steering;
	uint32_t before = steering->leaving;
	uint32_t leaving = leaving_of(runtime->pool);
	uint32_t latest = leaving & ~before;
	mtime now = runtime->world->now;

	steering->leaving = leaving;
	workers_check_killed(runtime);
	if (throttles_may_hold_all(runtime))
		steering->held_at = now;
	sim_require(!is_closed(runtime->pool) || now - steering->held_at <= CLOSED_MIN,
		"a pool is closed by no throttle");
	sim_require(!is_idle_for_nothing(runtime->pool),
		"a pool that may consume waits for something else to happen");
	sim_require((latest & (latest - 1)) == 0, "two workers are sent away in one turn");
	sim_require(!latest || !(leaving & before), "one is sent away while another is leaving");
	if (latest && workers_is_taking(&runtime->workers, (uint16_t)__builtin_ctz(latest)))
		sim_require(strength_of(runtime) >= steering->fewest,
			"%u of %u workers are left by a restart", strength_of(runtime),
			steering->fewest);
	steering->fewest = steering->wanted;
}

static void roll_begins(struct pool_runtime *runtime)
{
	struct steering *steering = &runtime->steering;

	steering->rolls = true;
	for (uint16_t i = 0; i < SLOTS_MAX; i++) {
		const struct worker *worker = &runtime->workers.worker[i];

		steering->lives[i] = worker->phase == WORKER_NONE ? 0 : worker->life;
	}
}

static void roll_ends(struct pool_runtime *runtime)
{
	struct steering *steering = &runtime->steering;

	steering->rolls = false;
	for (uint16_t i = 0; i < SLOTS_MAX; i++) {
		const struct worker *worker = &runtime->workers.worker[i];

		sim_require(worker->phase == WORKER_NONE || worker->life != steering->lives[i],
			"worker %u is still the old one after a restart", i);
	}
	sim_require(strength_of(runtime) == steering->wanted,
		"%u of %u workers are there after a restart", strength_of(runtime),
		steering->wanted);
}

static void want(struct steering *steering, uint32_t wanted)
{
	steering->wanted = wanted;
	if (wanted < steering->fewest)
		steering->fewest = wanted;
}

/* The pool has chosen another number. It may let any number of surplus workers leave at once. */
static void changes(struct pool_runtime *runtime, const struct notice *notice)
{
	struct steering *steering = &runtime->steering;
	const struct pool *pool = runtime->pool;
	bool is_more = notice->kind == NOTICE_GROWN;

	sim_require(notice->number >= steering->min && notice->number <= steering->max,
		"%u workers are wanted, and not from %u to %u", notice->number, steering->min,
		steering->max);
	sim_require(is_more == (notice->number > steering->wanted) && !steering->is_paused,
		"%u workers are wanted after %u", notice->number, steering->wanted);
	sim_require(!is_more || (pool->slots.failing == 0 &&
					dispatch_runnable(&pool->tasks.dispatch) > 0),
		"it grows, and workers fail or nothing waits");
	sim_require(is_more || !steering->rolls, "it shrinks while workers are replaced");
	want(steering, notice->number);
	steering->leaving = leaving_of(pool);
}

void steer_told(struct pool_runtime *runtime, const struct notice *notice)
{
	if (notice->kind == NOTICE_GROWN || notice->kind == NOTICE_SHRUNK)
		changes(runtime, notice);
	if (notice->kind == NOTICE_COMMAND_REFUSED ||
		notice->kind == NOTICE_SESSION_COMMAND_REFUSED)
		runtime->steering.was_refused = true;
	else if (notice->kind == NOTICE_ROLL_BEGINS)
		roll_begins(runtime);
	else if (notice->kind == NOTICE_ROLL_ENDS)
		roll_ends(runtime);
	else if (notice->kind == NOTICE_ROLL_STOPS)
		runtime->steering.rolls = false;
}

/* ---------- commands ---------- */

static bool is_configured(const struct pool_runtime *runtime)
{
	return runtime->supervisor->state == SUPERVISOR_SERVES && runtime->presence == POOL_THERE;
}

static uint32_t within(uint32_t number, uint32_t min, uint32_t max)
{
	return number < min ? min : number > max ? max : number;
}

static void set_bounds(struct steering *steering, uint32_t min, uint32_t max)
{
	steering->min = min;
	steering->max = max;
	want(steering, within(steering->wanted, min, max));
}

/* max: upper bound of a scale that leaves the choice to the pool; 0: a fixed number. */
static void send_command(
	struct pool_runtime *runtime, enum command what, uint32_t number, uint32_t max)
{
#define X(id, name) [COMMAND_##id] = #name,
	static const char *const names[] = {COMMANDS(X)};
#undef X
	struct event event = {.kind = COMMAND,
		.command = {
			.what = what, .number = number, .max = max, .config = &runtime->config}};
	struct steering *steering = &runtime->steering;
	bool serves = is_configured(runtime);

	sim_trace("supervisor %u, pool %u: command %s %u..%u", runtime->supervisor->number,
		runtime->channel, names[what], number, max);
	steering->was_refused = false;
	if (serves && (what == COMMAND_PAUSE || what == COMMAND_RESUME))
		steering->is_paused = what == COMMAND_PAUSE;
	pool_step(runtime->pool, runtime->world->now, &event);
	sim_require(
		serves || steering->was_refused, "a pool that stops is told to %s", names[what]);
	if (what == COMMAND_SCALE && !steering->was_refused)
		set_bounds(steering, number, max ? max : number);
	sim_require(runtime->pool->slots.wanted == steering->wanted && steering->wanted > 0,
		"%u workers are wanted, not %u", runtime->pool->slots.wanted, steering->wanted);
	steering->leaving = leaving_of(runtime->pool);
	runtime->supervisor->has_events = true;
	runtime->world->moved = true;
}

void steer_command(struct pool_runtime *runtime, enum command what)
{
	send_command(runtime, what, 0, 0);
}

static uint32_t workers_limit(const struct world *world)
{
	uint32_t max = world->settings->workers;

	return max < WORKERS_MAX ? max : WORKERS_MAX;
}

/* Sometimes a number that is refused. */
static uint32_t any_number(struct world *world)
{
	static const uint32_t odd[] = {0, SLOTS_MAX + 1, POOL_WORKERS_MAX + 1, UINT32_MAX};

	if (random_chance(&world->random, 100))
		return odd[random_below(&world->random, 4)];
	return 1 + random_below(&world->random, workers_limit(world));
}

/* Sometimes the pool may choose between two bounds; sometimes these are invalid. */
static void command_scale(struct pool_runtime *runtime, uint32_t number)
{
	struct world *world = runtime->world;
	uint32_t max = random_chance(&world->random, 400)
			       ? 1 + random_below(&world->random, workers_limit(world))
			       : 0;

	send_command(runtime, COMMAND_SCALE, number, max);
}

/* A task that some worker has, or one that none has. */
static uint64_t choose_task_id(struct pool_runtime *runtime)
{
	struct random *random = &runtime->world->random;
	uint32_t start = random_below(random, SLOTS_MAX);

	if (random_chance(random, 200))
		return random_below(random, 2) * (runtime->supervisor->last_task_id + 1);
	for (uint32_t i = 0; i < SLOTS_MAX; i++) {
		const struct worker *worker = &runtime->workers.worker[(start + i) % SLOTS_MAX];

		if (worker->count > 0)
			return worker->tasks[random_below(random, worker->count)].task_id;
	}
	return 1;
}

static bool is_cancellable(struct pool_runtime *runtime, uint64_t task_id)
{
	for (uint16_t i = 0; i < SLOTS_MAX; i++) {
		struct worker *worker = &runtime->workers.worker[i];
		const struct worker_task *task = workers_find(worker, task_id);
		bool has_begun = task == worker->tasks || workers_have_many(runtime);

		if (task && has_begun && workers_is_taking(&runtime->workers, i))
			return true;
	}
	return false;
}

/* The worker that works on the task is asked, unless it is ending. */
static void command_cancel(struct pool_runtime *runtime)
{
	struct workers *workers = &runtime->workers;
	struct event event = {.kind = COMMAND,
		.command = {.what = COMMAND_CANCEL, .task_id = choose_task_id(runtime)}};
	bool is_expected = is_cancellable(runtime, event.command.task_id);

	sim_trace("supervisor %u, pool %u: command cancel %llu", runtime->supervisor->number,
		runtime->channel, (unsigned long long)event.command.task_id);
	workers->cancels = event.command.task_id;
	workers->was_asked = runtime->steering.was_refused = false;
	pool_step(runtime->pool, runtime->world->now, &event);
	workers->cancels = 0;
	sim_require(
		workers->was_asked == is_expected && runtime->steering.was_refused == !is_expected,
		"task %llu: its cancellation is %s", (unsigned long long)event.command.task_id,
		is_expected ? "refused" : "not refused");
	runtime->supervisor->has_events = true;
	runtime->world->moved = true;
}

/* The task that is meant: by its id, or the only one that the worker works on. NULL: none. */
static struct worker_task *find_killable(
	struct pool_runtime *runtime, uint16_t slot, uint64_t task_id)
{
	struct worker *worker = &runtime->workers.worker[slot];
	bool is_clear = worker->count == 1 || !workers_have_many(runtime);

	if (worker->phase != WORKER_RUNNING || worker->count == 0)
		return NULL;
	if (!task_id && !is_clear)
		return NULL;
	if (!task_id)
		task_id = worker->tasks[0].task_id;
	return is_cancellable(runtime, task_id) ? workers_find(worker, task_id) : NULL;
}

static uint16_t slot_of(const struct pool_runtime *runtime, uint64_t task_id)
{
	struct random *random = &runtime->world->random;

	for (uint16_t i = 0; random_chance(random, 900) && i < SLOTS_MAX; i++)
		if (workers_find((struct worker *)&runtime->workers.worker[i], task_id))
			return i;
	return (uint16_t)random_below(random, SLOTS_MAX);
}

/* How many of the kills that are not refused gave a task up is seen in the table of reasons. */
static void command_kill(struct pool_runtime *runtime)
{
	struct random *random = &runtime->world->random;
	struct workers *workers = &runtime->workers;
	struct event event = {.kind = COMMAND,
		.command = {.what = COMMAND_KILL,
			.task_id = choose_task_id(runtime),
			.gives_up = random_chance(random, 500)}};
	struct worker_task *task;
	struct worker *worker;
	bool is_first;

	event.command.slot = slot_of(runtime, event.command.task_id);
	if (random_chance(random, 300))
		event.command.task_id = 0;
	task = find_killable(runtime, event.command.slot, event.command.task_id);
	is_first = task && !task->is_killed;
	worker = &workers->worker[event.command.slot];
	sim_trace("supervisor %u, pool %u: command kill %llu in worker %u",
		runtime->supervisor->number, runtime->channel,
		(unsigned long long)event.command.task_id, event.command.slot);
	workers->cancels = is_first ? task->task_id : 0;
	workers->was_asked = runtime->steering.was_refused = false;
	if (is_first) {
		if (!workers_has_killed(worker)) /* a grace that has begun stands */
			worker->kill_at = runtime->world->now + runtime->config.grace;
		task->is_killed = true;
	}
	pool_step(runtime->pool, runtime->world->now, &event);
	workers->cancels = 0;
	sim_require(workers->was_asked == is_first && runtime->steering.was_refused == !task,
		"the kill of task %llu in worker %u is %s",
		(unsigned long long)event.command.task_id, event.command.slot,
		task ? "refused, or its worker is not asked once" : "not refused");
	runtime->supervisor->has_events = true;
	runtime->world->moved = true;
}

static void command_any(struct world *world, struct pool_runtime *runtime)
{
	uint32_t what = random_below(&world->random, 100);

	if (what < 30)
		command_scale(runtime, any_number(world));
	else if (what < 40)
		command_cancel(runtime);
	else if (what < 50)
		command_kill(runtime);
	else if (what < 65)
		send_command(runtime, COMMAND_RESTART, 0, 0);
	else if (what < 80)
		send_command(runtime, COMMAND_PAUSE, 0, 0);
	else
		send_command(runtime, COMMAND_RESUME, 0, 0);
}

/* NULL: it is not there. */
static struct pool_runtime *any_pool(struct world *world)
{
	struct supervisor *supervisor =
		&world->supervisors[random_below(&world->random, world->supervisor_count)];
	struct pool_runtime *runtime =
		&supervisor->pools[random_below(&world->random, supervisor->pool_count)];
	bool is_there =
		supervisor->state == SUPERVISOR_SERVES || supervisor->state == SUPERVISOR_STOPS;

	return is_there && runtime->presence != POOL_ABSENT ? runtime : NULL;
}

void steer_any(struct world *world)
{
	struct pool_runtime *runtime = any_pool(world);

	if (runtime && world_wants(world, TROUBLE_STEER, 1000))
		command_any(world, runtime);
}

void steer_kill_chance(struct world *world)
{
	struct pool_runtime *runtime;

	if (!world_wants(world, TROUBLE_STEER, KILLS_IN_1000) || !(runtime = any_pool(world)))
		return;
	for (uint16_t i = 0; i < SLOTS_MAX; i++)
		if (runtime->workers.worker[i].count > 0) {
			command_kill(runtime);
			return;
		}
}

void steer_resume(struct supervisor *supervisor)
{
	EACH_POOL(supervisor, runtime)
	{
		if (runtime->steering.is_paused && is_configured(runtime))
			send_command(runtime, COMMAND_RESUME, 0, 0);
	}
}

/* ---------- in a calm world ---------- */

static bool is_steered(const struct pool_runtime *runtime)
{
	const struct pool *pool = runtime->pool;

	return !runtime->steering.rolls && leaving_of(pool) == 0 &&
	       pool->slots.ready == pool->slots.wanted;
}

bool steer_is_done(const struct supervisor *supervisor)
{
	if (supervisor->state != SUPERVISOR_SERVES)
		return true;
	EACH_POOL((struct supervisor *)supervisor, runtime)
	{
		if (!is_configured(runtime))
			continue;
		if (!is_steered(runtime))
			return false;
		sim_require(strength_of(runtime) == runtime->steering.wanted,
			"%u workers are there in the end, and %u were wanted", strength_of(runtime),
			runtime->steering.wanted);
	}
	return true;
}

void steer_in_order(struct supervisor *supervisor)
{
	struct random *random = &supervisor->world->random;

	if (supervisor->state != SUPERVISOR_SERVES)
		return;
	EACH_POOL(supervisor, runtime)
	{
		uint32_t what = random_below(random, 16);

		if (!is_configured(runtime))
			continue;
		if (what & 1)
			command_scale(runtime,
				1 + random_below(random, workers_limit(supervisor->world)));
		if (what & 2)
			send_command(runtime, COMMAND_RESTART, 0, 0);
		if ((what & 12) == 12)
			send_command(runtime, COMMAND_PAUSE, 0, 0);
		if ((what & 12) == 8)
			send_command(runtime, COMMAND_RESUME, 0, 0);
	}
}
