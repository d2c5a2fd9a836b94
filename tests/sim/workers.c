#include "sim/workers.h"

#include "core/pool_internal.h"
#include "sim/blame.h"
#include "sim/cover.h"
#include "sim/fail.h"
#include "sim/link.h"
#include "sim/start_costs.h"
#include "sim/world.h"

/* ---------- the effects ---------- */

/* Check the attempt, when it is sent, and that a task that must run alone does. */
static void check_send(const struct pool_runtime *runtime, const struct worker_task *task,
	const struct delivery *delivery)
{
	const struct world *world = runtime->world;
	const struct copy_facts *facts = &world->account.facts[task->instance];

	const struct loose_task *loose = order_loose_find(runtime, delivery);
	bool has_key = order_has_key(&world->order, task->id);
	bool had_worker = loose && loose->was_attached;

	sim_require(delivery->returns < 10 || has_key || had_worker,
		"message %u came back %u times and is sent", task->id, delivery->returns);
	for (uint16_t i = 0; i < SLOTS_MAX; i++)
		sim_require(runtime->workers.worker[i].count == 0 ||
				    !(task->alone || runtime->workers.worker[i].tasks[0].alone),
			"message %u is not alone, or beside one that ought to be", task->id);
	if (task->instance == 0)
		return;
	sim_require(world->now >= facts->not_before, "message %u is seen %lld us too early",
		task->id, (long long)(facts->not_before - world->now));
	if (has_key)
		return;
	sim_require(task->attempt == facts->attempt + 1, "message %u is in attempt %u, after %u",
		task->id, task->attempt, facts->attempt);
	sim_require(delivery->renewed == facts->renewed, "message %u lost its renewals", task->id);
}

/* Check that nothing is sent behind a task that has run for too long, nor behind any task in the
 * turn in which such a one is found. */
static void check_wait(const struct pool_runtime *runtime, const struct worker *worker)
{
	const struct workers *workers = &runtime->workers;
	mtime wait = runtime->config.pipe_wait, now = runtime->world->now;

	if (runtime->config.pipeline || worker->count == 0)
		return;
	sim_require(now - worker->since < wait, "a task is sent behind one that has run %lld us",
		(long long)(now - worker->since));
	for (uint16_t i = 0; i < SLOTS_MAX; i++) {
		const struct worker *other = &workers->worker[i];
		bool is_busy = other->phase == WORKER_RUNNING && other->count > 0 &&
			       !other->broken && !other->term && !other->kill;

		sim_require(!is_busy || now - other->since < wait ||
				    runtime->turned_at - other->since >= wait,
			"a task is sent behind another, and worker %u has just turned out slow", i);
	}
}

static mtime soft_limit(
	const struct pool_runtime *runtime, uint64_t instance, const struct delivery *delivery)
{
	mtime own = instance ? runtime->world->account.facts[instance].soft
			     : delivery->soft_ms * MTIME_MS;

	if (!runtime->config.on_soft)
		return MTIME_NEVER;
	return own > 0 ? own : runtime->config.soft_limit;
}

static uint32_t depth_of(const struct pool_config *config)
{
	if (config->concurrency > 1)
		return config->concurrency;
	return config->pipeline ? config->pipeline : POOL_PIPELINE_MAX;
}

enum send_result workers_send(
	struct workers *workers, uint16_t slot, const struct delivery *delivery, uint16_t attempt)
{
	struct pool_runtime *runtime = workers->runtime;
	struct worker *worker = &workers->worker[slot];
	const struct client_link *link = pool_link(runtime);
	struct worker_task task = {.task_id = delivery->id,
		.id = account_id(delivery->body),
		.slice = delivery->slice,
		.attempt = attempt};

	sim_require(worker->phase == WORKER_RUNNING && !worker->quit, "a task for a worker not up");
	sim_require(worker->count < depth_of(&runtime->config), "a pipe over its depth");
	sim_require(!workers_has_killed(worker), "a task for a worker that may be ended");
	workers->restless |= 1u << slot;
	if (world_wants(runtime->world, TROUBLE_MEMORY, 5))
		return SEND_NO_MEMORY;
	if (runtime->world->account.message[task.id].temper == TEMPER_TOO_LARGE)
		return SEND_TOO_LARGE;
	if (runtime->world->order.is_on)
		task.instance = order_instance(runtime, delivery);
	else if (link->peer)
		task.instance = broker_instance_of(link->peer, runtime->channel, delivery->tag);
	task.requeues = runtime->world->account.requeues[task.instance];
	task.alone = delivery->redelivered && delivery->renewed >= 3;
	task.sent = task.began = runtime->world->now;
	task.soft = soft_limit(runtime, task.instance, delivery);
	check_send(runtime, &task, delivery);
	check_wait(runtime, worker);
	blame_sent(runtime, slot, &task, delivery);
	order_sent(runtime, &task, delivery);
	sim_require(!worker->given_max || worker->given < worker->given_max,
		"worker %u is given more than %u tasks", slot, worker->given);
	worker->given++;
	worker->bytes += random_below(&runtime->world->random, 100);
	if (worker->count == 0)
		worker->since = runtime->world->now;
	else if (!workers_have_many(runtime))
		task.began = MTIME_NEVER;
	worker->tasks[worker->count++] = task;
	sim_trace("worker %u gets message %u, attempt %u, as task %llu%s", slot, task.id, attempt,
		(unsigned long long)task.task_id, task.is_suspect ? ", a suspect" : "");
	return SEND_OK;
}

struct worker_task *workers_find(struct worker *worker, uint64_t task_id)
{
	for (uint32_t i = 0; i < worker->count; i++)
		if (worker->tasks[i].task_id == task_id)
			return &worker->tasks[i];
	return NULL;
}

static void spawn(struct pool_runtime *runtime, struct worker *worker, uint32_t life)
{
	sim_require(worker->phase == WORKER_NONE, "a slot started twice");
	memset(worker, 0, offsetof(struct worker, tasks));
	worker->life = life;
	worker->stubborn = random_chance(&runtime->world->random, 100) &&
			   settings_has(runtime->world->settings, TROUBLE_STUBBORN);
	cover_mark(COVER_TROUBLE, TROUBLE_STUBBORN, !worker->stubborn);
	worker->comes_to_nothing = runtime->is_broken;
	start_costs_spawn(runtime, worker);
	worker->phase = WORKER_BOOTING;
}

mtime workers_hard_limit(const struct pool_runtime *runtime, const struct worker_task *task)
{
	return task->hard ? task->hard : runtime->config.hard_limit;
}

void workers_check_hard(const struct pool_runtime *runtime)
{
	for (uint16_t i = 0; i < SLOTS_MAX && !workers_have_many(runtime); i++) {
		const struct worker *worker = &runtime->workers.worker[i];

		sim_require(!workers_is_taking(&runtime->workers, i) || worker->count == 0 ||
				    runtime->world->now - worker->since <
					    workers_hard_limit(runtime, &worker->tasks[0]),
			"message %u is over its hard limit, and worker %u goes on",
			worker->tasks[0].id, i);
	}
}

static void check_interrupted(const struct pool_runtime *runtime, const struct worker_task *task)
{
	bool is_late = task->soft <= workers_hard_limit(runtime, task) &&
		       runtime->turned_at - task->sent >= task->soft;

	sim_require(task->interrupted || !is_late,
		"message %u is stopped, and was never interrupted", task->id);
}

bool workers_has_killed(const struct worker *worker)
{
	for (uint32_t i = 0; i < worker->count; i++)
		if (worker->tasks[i].is_killed)
			return true;
	return false;
}

void workers_check_killed(const struct pool_runtime *runtime)
{
	for (uint16_t i = 0; i < SLOTS_MAX; i++) {
		const struct worker *worker = &runtime->workers.worker[i];

		sim_require(!workers_is_taking(&runtime->workers, i) ||
				    !workers_has_killed(worker) ||
				    runtime->world->now < worker->kill_at,
			"worker %u goes on with a task that was to be killed", i);
	}
}

static void term(struct pool_runtime *runtime, struct worker *worker)
{
	bool is_killed = workers_has_killed(worker) && runtime->world->now >= worker->kill_at;

	for (uint32_t i = 0; i < worker->count; i++)
		check_interrupted(runtime, &worker->tasks[i]);
	sim_require(worker->count == 0 || workers_have_many(runtime) || is_killed ||
			    runtime->world->now - worker->since >=
				    workers_hard_limit(runtime, &worker->tasks[0]),
		"worker %d is stopped in the middle of message %u",
		(int)(worker - runtime->workers.worker), worker->tasks[0].id);
	blame_term(runtime, worker);
	worker->term = worker->given_up = true;
}

bool workers_has_aborted(const struct worker *worker)
{
	for (uint32_t i = 0; i < worker->count; i++)
		if (worker->tasks[i].is_aborted)
			return true;
	return false;
}

/* It has lost the token, and another supervisor may run its tasks. */
static bool is_standby(const struct pool_runtime *runtime)
{
	return runtime->pool->tasks.is_standby;
}

/* Only a forced stop, the end of a session, or the loss of the token may interrupt a task that has
 * exceeded no limit; or the last answer of a worker, which ends what else it has begun. */
static void kill(struct pool_runtime *runtime, struct worker *worker)
{
	uint64_t limit = runtime->config.recycle.memory_kill;
	bool is_too_large = worker->reports_memory && limit && worker->bytes > limit;
	bool is_ordered = workers_has_aborted(worker) || is_standby(runtime) || worker->has_ended;

	sim_require(worker->count == 0 || worker->broken || worker->term || is_too_large ||
			    is_ordered || pool_is_forced(&runtime->pool->context),
		"a worker is killed with %u tasks open", worker->count);
	worker->given_up |= is_too_large || is_ordered;
	blame_kill(runtime, worker);
	worker->kill = true;
}

void workers_request(
	struct workers *workers, uint16_t slot, uint32_t life, enum slot_request request)
{
	struct worker *worker = &workers->worker[slot];

	workers->restless |= 1u << slot;
	if (request == SLOT_SPAWN) {
		spawn(workers->runtime, worker, life);
		return;
	}
	if (worker->phase == WORKER_NONE || worker->life != life)
		return;
	switch (request) {
	case SLOT_QUIT:
		sim_require(worker->count == 0 || worker->broken, "quit with %u tasks open",
			worker->count);
		worker->quit = true;
		break;
	case SLOT_TERM:
		term(workers->runtime, worker);
		break;
	case SLOT_KILL:
		kill(workers->runtime, worker);
		break;
	case SLOT_SPAWN:
		break;
	}
}

void workers_ask(struct workers *workers, uint16_t slot, uint32_t life, enum task_request request,
	uint64_t task_id)
{
	struct pool_runtime *runtime = workers->runtime;
	struct worker *worker = &workers->worker[slot];
	struct worker_task *task = workers_find(worker, task_id);

	workers->restless |= 1u << slot;
	sim_require(worker->life == life && worker->phase == WORKER_RUNNING && !worker->term,
		"worker %u is asked for something about a task and has none", slot);
	sim_require(task, "worker %u is asked about a task that it does not have", slot);
	if (task_id == workers->cancels) {
		sim_require(request == TASK_CANCEL && !workers->was_asked,
			"message %u is not cancelled, or twice", task->id);
		workers->was_asked = task->cancelled = true;
		sim_trace("message %u is cancelled", task->id);
		return;
	}
	if (task->is_aborted && !task->cancelled && request == TASK_CANCEL) { /* it begins */
		task->cancelled = true;
		sim_trace("message %u is cancelled as it begins", task->id);
		return;
	}
	sim_require((request == TASK_CANCEL) == (runtime->config.on_soft == SOFT_CANCEL),
		"message %u: another request than the configured one", task->id);
	sim_require(!task->interrupted, "message %u is interrupted twice", task->id);
	sim_require(runtime->world->now - task->sent >= task->soft,
		"message %u is interrupted too early", task->id);
	task->interrupted = true;
	sim_trace("message %u is interrupted", task->id);
}

void workers_start(struct workers *workers, struct pool_runtime *runtime)
{
	workers->runtime = runtime;
	workers->restless = 0;
	workers->cancels = 0;
	workers->ended_count = 0;
	for (uint16_t i = 0; i < SLOTS_MAX; i++)
		memset(&workers->worker[i], 0, offsetof(struct worker, tasks));
}

bool workers_have_many(const struct pool_runtime *runtime)
{
	return runtime->config.concurrency > 1;
}

/* One that has got almost as many tasks as the new limit allows keeps a higher one until it is
 * replaced: the pool draws each limit up to an eighth lower. */
void workers_reconfigure(struct pool_runtime *runtime)
{
	uint32_t max = runtime->config.recycle.tasks;

	for (uint16_t i = 0; i < SLOTS_MAX; i++) {
		struct worker *worker = &runtime->workers.worker[i];
		bool is_over = max && worker->given >= max - max / 8;
		bool is_higher = !worker->given_max || worker->given_max > max;

		if (!is_over || !is_higher)
			worker->given_max = max;
	}
}

void workers_wake(struct workers *workers)
{
	workers->restless = (1u << SLOTS_MAX) - 1;
}

bool workers_is_anyone_alive(const struct workers *workers)
{
	for (uint16_t i = 0; i < SLOTS_MAX; i++)
		if (workers->worker[i].phase != WORKER_NONE)
			return true;
	return false;
}
