#include "sim/reload.h"

#include "core/pool_internal.h"
#include "sim/fail.h"
#include "sim/link.h"
#include "sim/supervisor.h"

/* ---------- what is done ---------- */

static struct station *free_place(struct supervisor *supervisor)
{
	for (uint16_t i = 0; i < STATIONS_MAX; i++)
		if (supervisor->stations[i].presence == STATION_ABSENT)
			return &supervisor->stations[i];
	return NULL;
}

/* Its channel has the number of one that was closed, perhaps in this very turn. */
static void add(struct supervisor *supervisor)
{
	struct station *station = free_place(supervisor);
	struct client_link *publishing = &supervisor->links[0];

	if (!station)
		return;
	sim_trace("supervisor %u: pool %u is added", supervisor->number, station->channel);
	station->presence = STATION_THERE;
	station_choose(station, &supervisor->world->policy);
	station_start(station);
	link_init(station_link(station), supervisor, station);
	if (station->channel > supervisor->station_count)
		supervisor->station_count = station->channel;
	if (publishing->up)
		publisher_up(station->publisher, publishing->connection, supervisor->world->now);
}

static uint32_t configured(struct supervisor *supervisor)
{
	uint32_t count = 0;

	EACH_STATION(supervisor, station)
	{
		count += station->presence == STATION_THERE;
	}
	return count;
}

/* The last one stays. */
static void drop(struct station *station)
{
	struct event event = {.kind = COMMAND, .command.what = COMMAND_DRAIN};

	if (configured(station->supervisor) < 2)
		return;
	sim_trace(
		"supervisor %u: pool %u is removed", station->supervisor->number, station->channel);
	station->presence = STATION_LEAVES;
	pool_step(station->pool, station->world->now, &event);
}

static void replace(struct station *station)
{
	add(station->supervisor);
	drop(station);
}

static void change(struct station *station)
{
	struct pool_config before = station->config;

	station_reshape(station);
	station->config.workers = before.workers; /* that is a scale */
	station->config.workers_max = before.workers_max;
	steer_tell(station, COMMAND_CONFIGURE);
}

static void give_command(struct station *station, bool is_broken)
{
	station->is_broken = is_broken;
	sim_trace("pool %u has another command%s", station->channel,
		is_broken ? ", which is broken" : "");
	steer_tell(station, COMMAND_RESTART);
}

static void do_any(struct station *station, uint32_t what)
{
	struct supervisor *supervisor = station->supervisor;

	if (what < 15)
		add(supervisor);
	else if (what < 30)
		drop(station);
	else if (what < 50)
		replace(station);
	else if (what < 80)
		change(station);
	else
		give_command(station, what >= 90);
	supervisor->stirred = true;
	supervisor->world->moved = true;
}

/* One that leaves, or stops, refuses another configuration. */
static void try_to_change(struct station *station)
{
	steer_tell(station, COMMAND_CONFIGURE);
}

void reload_any(struct world *world)
{
	struct random *random = &world->random;
	struct supervisor *supervisor =
		&world->supervisors[random_below(random, world->supervisor_count)];
	struct station *station =
		&supervisor->stations[random_below(random, supervisor->station_count)];
	bool serves = supervisor->state == SUPERVISOR_SERVES;

	if (station->presence == STATION_ABSENT || !world_wants(world, TROUBLE_RELOAD, 1000))
		return;
	if (serves && station->presence == STATION_THERE)
		do_any(station, random_below(random, 100));
	else if (serves || supervisor->state == SUPERVISOR_STOPS)
		try_to_change(station);
}

void reload_in_order(struct supervisor *supervisor)
{
	struct random *random = &supervisor->world->random;

	if (supervisor->state != SUPERVISOR_SERVES)
		return;
	EACH_STATION(supervisor, station)
	{
		if (station->presence == STATION_THERE && random_chance(random, 700))
			do_any(station, random_below(random, 100));
	}
}

void reload_mend(struct supervisor *supervisor)
{
	if (supervisor->state != SUPERVISOR_SERVES)
		return;
	EACH_STATION(supervisor, station)
	{
		if (station->presence == STATION_THERE && station->is_broken &&
			!station->steering.rolls)
			give_command(station, false);
	}
}

/* ---------- what follows ---------- */

static void close_down(struct station *station)
{
	sim_require(!workers_is_anyone_alive(&station->workers), "a worker outlived its pool");
	sim_trace("supervisor %u: pool %u closes", station->supervisor->number, station->channel);
	station->presence = STATION_CLOSES;
	publisher_close(station->publisher);
	link_close(station_link(station));
	station->world->moved = true;
}

static void leave(struct station *station)
{
	sim_trace("supervisor %u: pool %u has left", station->supervisor->number, station->channel);
	station_end(station);
	station->presence = STATION_ABSENT;
	station->world->moved = true;
}

void reload_sweep(struct supervisor *supervisor)
{
	EACH_STATION(supervisor, station)
	{
		if (station->presence == STATION_LEAVES && pool_is_quiet(station->pool))
			close_down(station);
		if (station->presence == STATION_CLOSES && !station_link(station)->connection &&
			publisher_has_ended(station->publisher))
			leave(station);
	}
}

/* ---------- what is expected ---------- */

/* Nothing is in hand: the window is what it says. What memory made of it may last. */
static bool is_window_right(const struct station *station)
{
	const struct source *source = &station->pool->tasks.source;
	uint32_t prefetch = station->config.prefetch;

	if (!prefetch || source->open > 0 || source->request != SOURCE_CONSUME)
		return true;
	return source->window == prefetch || (station->was_narrow && source->window < prefetch);
}

static bool is_settled(const struct station *station)
{
	const struct pool_config *wanted = &station->config,
				 *config = &station->pool->context.config;

	sim_require(config->pipeline == wanted->pipeline && config->prefetch == wanted->prefetch &&
			    config->memory == wanted->memory &&
			    config->hard_limit == wanted->hard_limit &&
			    config->soft_limit == wanted->soft_limit &&
			    config->outbox_limit == wanted->outbox_limit,
		"pool %u is not what is configured", station->channel);
	return !station->is_broken && is_window_right(station);
}

bool reload_is_done(const struct supervisor *supervisor)
{
	if (supervisor->state != SUPERVISOR_SERVES)
		return true;
	EACH_STATION((struct supervisor *)supervisor, station)
	{
		if (station->presence != STATION_THERE || !is_settled(station))
			return false;
	}
	return true;
}
