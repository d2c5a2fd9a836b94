#include "sim/supervisor.h"

#include "sim/cover.h"
#include "sim/fail.h"
#include "sim/link.h"
#include "sim/reload.h"

void supervisor_choose(struct supervisor *supervisor, const struct settle_policy *policy)
{
	struct world *world = supervisor->world;
	uint32_t count = 1 + random_below(&world->random, STATIONS_AT_FIRST);

	supervisor->state = SUPERVISOR_DEAD;
	if (count > world->settings->stations)
		count = world->settings->stations;
	supervisor->station_count = (uint16_t)count;
	for (uint16_t i = 0; i < STATIONS_MAX; i++) {
		struct station *station = &supervisor->stations[i];

		memset(station, 0, offsetof(struct station, workers));
		station->world = world;
		station->supervisor = supervisor;
		station->channel = (uint16_t)(i + 1);
		if (i >= count)
			continue;
		station->presence = STATION_THERE;
		station_choose(station, policy);
	}
}

/* From its configuration, as the last reload left it. */
static void forget_those_that_left(struct supervisor *supervisor)
{
	EACH_STATION(supervisor, station)
	{
		if (station->presence != STATION_THERE)
			station->presence = STATION_ABSENT;
	}
}

void supervisor_start(struct supervisor *supervisor)
{
	cover_mark(COVER_OPERATOR, OPERATOR_START, supervisor->state);
	sim_trace("supervisor %u starts", supervisor->number);
	forget_those_that_left(supervisor);
	link_init(&supervisor->links[0], supervisor, NULL);
	for (uint16_t i = 0; i < STATIONS_MAX; i++) {
		struct station *station = &supervisor->stations[i];

		link_init(station_link(station), supervisor, station);
		if (station->presence == STATION_ABSENT)
			station_link(station)->retry_at = MTIME_NEVER;
		else
			station_start(station);
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
	EACH_STATION(supervisor, station)
	{
		station_end(station);
	}
	supervisor->state = SUPERVISOR_DEAD;
	supervisor->world->moved = true;
}

void supervisor_kill(struct supervisor *supervisor)
{
	cover_mark(COVER_OPERATOR, OPERATOR_KILL, supervisor->state);
	sim_trace("supervisor %u is killed", supervisor->number);
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
	EACH_STATION(supervisor, station)
	{
		pool_step(station->pool, supervisor->world->now, &event);
	}
	supervisor->stirred = true;
}

static bool is_quiet(struct supervisor *supervisor)
{
	EACH_STATION(supervisor, station)
	{
		if (!pool_is_quiet(station->pool))
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
	EACH_STATION(supervisor, station)
	{
		sim_require(
			!workers_is_anyone_alive(&station->workers), "a worker outlived the pool");
	}
	supervisor->state = SUPERVISOR_LEAVES;
	supervisor->world->moved = true;
	EACH_LINK(supervisor, link)
	{
		link_close(link);
	}
}

void supervisor_turn(struct supervisor *supervisor)
{
	supervisor->stirred = false;
	EACH_STATION(supervisor, station)
	{
		station_turn(station);
	}
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

	EACH_STATION((struct supervisor *)supervisor, station)
	{
		next = mtime_min(next, station_deadline(station));
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
	EACH_STATION((struct supervisor *)supervisor, station)
	{
		if (!station_is_idle(station))
			return false;
	}
	return true;
}
