#include "sim/supervisor.h"

#include "sim/cover.h"
#include "sim/fail.h"
#include "sim/link.h"
#include "sim/reload.h"
#include "sim/start_costs.h"

void supervisor_choose(struct supervisor *supervisor, const struct settle_policy *policy)
{
	struct world *world = supervisor->world;
	uint32_t count = 1 + random_below(&world->random, POOLS_AT_FIRST);

	supervisor->state = SUPERVISOR_DEAD;
	if (count > world->settings->pools)
		count = world->settings->pools;
	if (world->order.is_on)
		count = 1;
	supervisor->pool_count = (uint16_t)count;
	for (uint16_t i = 0; i < POOLS_MAX; i++) {
		struct pool_runtime *runtime = &supervisor->pools[i];

		memset(runtime, 0, offsetof(struct pool_runtime, workers));
		runtime->world = world;
		runtime->supervisor = supervisor;
		runtime->channel = (uint16_t)(i + 1);
		if (i >= count)
			continue;
		runtime->presence = POOL_THERE;
		pool_runtime_choose(runtime, policy);
	}
}

/* From its configuration, as the last reload left it. */
static void forget_those_that_left(struct supervisor *supervisor)
{
	EACH_POOL(supervisor, runtime)
	{
		if (runtime->presence != POOL_THERE)
			runtime->presence = POOL_ABSENT;
	}
}

void supervisor_start(struct supervisor *supervisor)
{
	cover_mark(COVER_OPERATOR, OPERATOR_START, supervisor->state);
	sim_trace("supervisor %u starts", supervisor->number);
	forget_those_that_left(supervisor);
	start_costs_begin(supervisor);
	supervisor->last_task_id = supervisor->latest_id = 0;
	throttles_begin(supervisor);
	link_init(&supervisor->links[0], supervisor, NULL);
	for (uint16_t i = 0; i < POOLS_MAX; i++) {
		struct pool_runtime *runtime = &supervisor->pools[i];

		link_init(pool_link(runtime), supervisor, runtime);
		if (runtime->presence == POOL_ABSENT)
			pool_link(runtime)->retry_at = MTIME_NEVER;
		else
			pool_runtime_start(runtime);
	}
	supervisor->state = SUPERVISOR_SERVES;
	supervisor->frozen = 0;
}

static void end(struct supervisor *supervisor)
{
	EACH_LINK(supervisor, link)
	{
		link_release(link);
	}
	EACH_POOL(supervisor, runtime)
	{
		order_end(runtime);
		pool_runtime_end(runtime);
	}
	throttles_end(supervisor);
	supervisor->state = SUPERVISOR_DEAD;
	supervisor->world->moved = true;
}

void supervisor_kill(struct supervisor *supervisor)
{
	cover_mark(COVER_OPERATOR, OPERATOR_KILL, supervisor->state);
	sim_trace("supervisor %u is killed", supervisor->number);
	account_lose_accepted(&supervisor->world->account, supervisor->number);
	end(supervisor);
}

void supervisor_command(struct supervisor *supervisor, enum command what)
{
	struct event event = {.kind = COMMAND, .command.what = what};

	cover_mark(COVER_OPERATOR, what == COMMAND_DRAIN ? OPERATOR_DRAIN : OPERATOR_FORCE,
		supervisor->state);
	sim_trace("supervisor %u: command %s", supervisor->number,
		what == COMMAND_DRAIN ? "drain" : "force");
	if (supervisor->state == SUPERVISOR_SERVES)
		supervisor->state = SUPERVISOR_STOPS;
	if (what == COMMAND_FORCE)
		account_lose_accepted(&supervisor->world->account, supervisor->number);
	EACH_POOL(supervisor, runtime)
	{
		pool_step(runtime->pool, supervisor->world->now, &event);
	}
	supervisor->has_events = true;
}

static bool is_quiet(struct supervisor *supervisor)
{
	EACH_POOL(supervisor, runtime)
	{
		if (!pool_is_quiet(runtime->pool) || !pool_token_has_passed(&runtime->token))
			return false;
	}
	return true;
}

static bool is_disconnected(struct supervisor *supervisor)
{
	EACH_LINK(supervisor, link)
	{
		if (link->connection)
			return false;
	}
	return true;
}

static void leave(struct supervisor *supervisor)
{
	sim_trace("supervisor %u leaves", supervisor->number);
	EACH_POOL(supervisor, runtime)
	{
		sim_require(
			!workers_is_anyone_alive(&runtime->workers), "a worker outlived the pool");
	}
	supervisor->state = SUPERVISOR_LEAVES;
	supervisor->world->moved = true;
	EACH_LINK(supervisor, link)
	{
		link_close(link);
	}
}

static void turn_of(struct supervisor *supervisor, uint16_t place)
{
	if (supervisor->pools[place].presence != POOL_ABSENT)
		pool_runtime_turn(&supervisor->pools[place]);
}

void supervisor_turn(struct supervisor *supervisor)
{
	uint16_t first = throttles_first_pool(supervisor);

	supervisor->has_events = false;
	start_costs_look(supervisor);
	throttles_begin_turn(supervisor);
	for (uint16_t i = 0; i < supervisor->pool_count; i++)
		turn_of(supervisor, (uint16_t)((first + i) % supervisor->pool_count));
	throttles_end_turn(supervisor);
	if (supervisor->state == SUPERVISOR_SERVES)
		reload_sweep(supervisor);
	if (supervisor->state == SUPERVISOR_STOPS && is_quiet(supervisor))
		leave(supervisor);
	if (supervisor->state == SUPERVISOR_LEAVES && is_disconnected(supervisor)) {
		cover_mark(COVER_OPERATOR, OPERATOR_LEFT, supervisor->state);
		end(supervisor);
	}
}

mtime supervisor_deadline(const struct supervisor *supervisor)
{
	mtime next = MTIME_NEVER;

	EACH_POOL((struct supervisor *)supervisor, runtime)
	{
		next = mtime_min(next, pool_runtime_deadline(runtime));
	}
	EACH_LINK((struct supervisor *)supervisor, link)
	{
		next = mtime_min(next, link->retry_at);
	}
	return next;
}

bool supervisor_is_idle(const struct supervisor *supervisor)
{
	EACH_LINK((struct supervisor *)supervisor, link)
	{
		if (!link_is_still(link))
			return false;
	}
	EACH_POOL((struct supervisor *)supervisor, runtime)
	{
		if (!pool_runtime_is_idle(runtime))
			return false;
	}
	return true;
}
