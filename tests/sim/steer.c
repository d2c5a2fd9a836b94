#include "sim/steer.h"

#include "core/pool_internal.h"
#include "sim/fail.h"
#include "sim/supervisor.h"

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

/* Workers that take tasks, and are to go on with that. */
static uint32_t strength_of(const struct station *station)
{
	uint32_t strength = 0;

	for (uint16_t i = 0; i < station->pool->slots.all.count; i++)
		strength += workers_is_taking(&station->workers, i) &&
			    !slot_is_leaving(slots_at(&station->pool->slots, i));
	return strength;
}

static bool is_idle_for_nothing(const struct pool *pool)
{
	return pool->context.phase == POOL_RUNS && pool->slots.ready &&
	       pool->tasks.source.open == 0 && pool->tasks.source.request != SOURCE_CONSUME;
}

/* In a turn only a restart lets somebody leave: one at a time, and there is another for him. */
void steer_check(struct station *station)
{
	struct steering *steering = &station->steering;
	uint32_t before = steering->leaving;
	uint32_t leaving = leaving_of(station->pool);
	uint32_t latest = leaving & ~before;

	steering->leaving = leaving;
	sim_require(!is_idle_for_nothing(station->pool),
		"a pool that may consume waits for something else to happen");
	sim_require((latest & (latest - 1)) == 0, "two workers are sent away in one turn");
	sim_require(!latest || !(leaving & before), "one is sent away while another is leaving");
	if (latest && workers_is_taking(&station->workers, (uint16_t)__builtin_ctz(latest)))
		sim_require(strength_of(station) >= steering->fewest,
			"%u of %u workers are left by a restart", strength_of(station),
			steering->fewest);
	steering->fewest = steering->wanted;
}

static void roll_begins(struct station *station)
{
	struct steering *steering = &station->steering;

	steering->rolls = true;
	for (uint16_t i = 0; i < SLOTS_MAX; i++) {
		const struct worker *worker = &station->workers.worker[i];

		steering->lives[i] = worker->phase == WORKER_NONE ? 0 : worker->life;
	}
}

static void roll_ends(struct station *station)
{
	struct steering *steering = &station->steering;

	steering->rolls = false;
	for (uint16_t i = 0; i < SLOTS_MAX; i++) {
		const struct worker *worker = &station->workers.worker[i];

		sim_require(worker->phase == WORKER_NONE || worker->life != steering->lives[i],
			"worker %u is still the old one after a restart", i);
	}
	sim_require(strength_of(station) == steering->wanted,
		"%u of %u workers are there after a restart", strength_of(station),
		steering->wanted);
}

static void want(struct steering *steering, uint32_t wanted)
{
	steering->wanted = wanted;
	if (wanted < steering->fewest)
		steering->fewest = wanted;
}

/* By the pool's own choice; of those that are too many it sends away as many at once as it likes.
 */
static void changes(struct station *station, const struct notice *notice)
{
	struct steering *steering = &station->steering;
	const struct pool *pool = station->pool;
	bool is_more = notice->kind == NOTICE_GROWN;

	sim_require(notice->number >= steering->least && notice->number <= steering->most,
		"%u workers are wanted, and not from %u to %u", notice->number, steering->least,
		steering->most);
	sim_require(is_more == (notice->number > steering->wanted) && !steering->is_paused,
		"%u workers are wanted after %u", notice->number, steering->wanted);
	sim_require(!is_more || (pool->slots.failing == 0 && pool->tasks.dispatch.queued_count > 0),
		"it grows, and workers fail or nothing waits");
	sim_require(is_more || !steering->rolls, "it shrinks while workers are replaced");
	want(steering, notice->number);
	steering->leaving = leaving_of(pool);
}

void steer_told(struct station *station, const struct notice *notice)
{
	if (notice->kind == NOTICE_GROWN || notice->kind == NOTICE_SHRUNK)
		changes(station, notice);
	if (notice->kind == NOTICE_COMMAND_REFUSED)
		station->steering.was_refused = true;
	else if (notice->kind == NOTICE_ROLL_BEGINS)
		roll_begins(station);
	else if (notice->kind == NOTICE_ROLL_ENDS)
		roll_ends(station);
	else if (notice->kind == NOTICE_ROLL_STOPS)
		station->steering.rolls = false;
}

/* ---------- commands ---------- */

static bool is_configured(const struct station *station)
{
	return station->supervisor->state == SUPERVISOR_SERVES &&
	       station->presence == STATION_THERE;
}

static uint32_t within(uint32_t number, uint32_t least, uint32_t most)
{
	return number < least ? least : number > most ? most : number;
}

static void note_bounds(struct steering *steering, uint32_t least, uint32_t most)
{
	steering->least = least;
	steering->most = most;
	want(steering, within(steering->wanted, least, most));
}

/* most: of a scale that leaves the choice to the pool; 0: none. */
static void tell(struct station *station, enum command what, uint32_t number, uint32_t most)
{
#define X(id, name) [COMMAND_##id] = (name),
	static const char *const names[] = {COMMANDS(X)};
#undef X
	struct event event = {.kind = COMMAND,
		.command = {
			.what = what, .number = number, .max = most, .config = &station->config}};
	struct steering *steering = &station->steering;
	bool serves = is_configured(station);

	sim_trace("supervisor %u, pool %u: command %s %u..%u", station->supervisor->number,
		station->channel, names[what], number, most);
	steering->was_refused = false;
	if (serves && (what == COMMAND_PAUSE || what == COMMAND_RESUME))
		steering->is_paused = what == COMMAND_PAUSE;
	pool_step(station->pool, station->world->now, &event);
	sim_require(
		serves || steering->was_refused, "a pool that stops is told to %s", names[what]);
	if (what == COMMAND_SCALE && !steering->was_refused)
		note_bounds(steering, number, most ? most : number);
	sim_require(station->pool->slots.wanted == steering->wanted && steering->wanted > 0,
		"%u workers are wanted, not %u", station->pool->slots.wanted, steering->wanted);
	steering->leaving = leaving_of(station->pool);
	station->supervisor->stirred = true;
	station->world->moved = true;
}

void steer_tell(struct station *station, enum command what)
{
	tell(station, what, 0, 0);
}

static uint32_t most_workers(const struct world *world)
{
	uint32_t most = world->settings->workers;

	return most < WORKERS_MAX ? most : WORKERS_MAX;
}

/* At times one that is refused. */
static uint32_t any_number(struct world *world)
{
	static const uint32_t odd[] = {0, SLOTS_MAX + 1, POOL_WORKERS_MAX + 1, UINT32_MAX};

	if (random_chance(&world->random, 100))
		return odd[random_below(&world->random, 4)];
	return 1 + random_below(&world->random, most_workers(world));
}

/* At times it is left to the pool; or the bounds are no bounds. */
static void tell_scale(struct station *station, uint32_t number)
{
	struct world *world = station->world;
	uint32_t most = random_chance(&world->random, 400)
				? 1 + random_below(&world->random, most_workers(world))
				: 0;

	tell(station, COMMAND_SCALE, number, most);
}

static void tell_any(struct world *world, struct station *station)
{
	uint32_t what = random_below(&world->random, 100);

	if (what < 40)
		tell_scale(station, any_number(world));
	else if (what < 65)
		tell(station, COMMAND_RESTART, 0, 0);
	else if (what < 80)
		tell(station, COMMAND_PAUSE, 0, 0);
	else
		tell(station, COMMAND_RESUME, 0, 0);
}

void steer_any(struct world *world)
{
	struct supervisor *supervisor =
		&world->supervisors[random_below(&world->random, world->supervisor_count)];
	struct station *station =
		&supervisor->stations[random_below(&world->random, supervisor->station_count)];

	if (station->presence != STATION_ABSENT &&
		(supervisor->state == SUPERVISOR_SERVES || supervisor->state == SUPERVISOR_STOPS) &&
		world_wants(world, TROUBLE_STEER, 1000))
		tell_any(world, station);
}

void steer_resume(struct supervisor *supervisor)
{
	EACH_STATION(supervisor, station)
	{
		if (station->steering.is_paused && is_configured(station))
			tell(station, COMMAND_RESUME, 0, 0);
	}
}

/* ---------- in a calm world ---------- */

static bool is_steered(const struct station *station)
{
	const struct pool *pool = station->pool;

	return !station->steering.rolls && leaving_of(pool) == 0 &&
	       pool->slots.ready == pool->slots.wanted;
}

bool steer_is_done(const struct supervisor *supervisor)
{
	if (supervisor->state != SUPERVISOR_SERVES)
		return true;
	EACH_STATION((struct supervisor *)supervisor, station)
	{
		if (!is_configured(station))
			continue;
		if (!is_steered(station))
			return false;
		sim_require(strength_of(station) == station->steering.wanted,
			"%u workers are there in the end, and %u were wanted", strength_of(station),
			station->steering.wanted);
	}
	return true;
}

void steer_in_order(struct supervisor *supervisor)
{
	struct random *random = &supervisor->world->random;

	if (supervisor->state != SUPERVISOR_SERVES)
		return;
	EACH_STATION(supervisor, station)
	{
		uint32_t what = random_below(random, 16);

		if (!is_configured(station))
			continue;
		if (what & 1)
			tell_scale(
				station, 1 + random_below(random, most_workers(supervisor->world)));
		if (what & 2)
			tell(station, COMMAND_RESTART, 0, 0);
		if ((what & 12) == 12)
			tell(station, COMMAND_PAUSE, 0, 0);
		if ((what & 12) == 8)
			tell(station, COMMAND_RESUME, 0, 0);
	}
}
