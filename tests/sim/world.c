#include "sim/world.h"

#include "sim/arrival.h"
#include "sim/fail.h"
#include "sim/link.h"

#include <stdlib.h>

#define ROUNDS_MAX   200000 /* a calm world that has not ended by then never will */
#define MESSAGES_MIN 20

/* ---------- a supervisor's life ---------- */

static struct station *stations_end(struct world *world)
{
	return world->stations + world->station_count;
}

static struct station *any_station(struct world *world)
{
	return &world->stations[random_below(&world->random, world->station_count)];
}

static void start_supervisor(struct world *world)
{
	for (struct station *station = world->stations; station < stations_end(world); station++)
		station_start(station);
	link_init(&world->links[0], world, false);
	link_init(&world->links[1], world, true);
}

/* As a kill -9 would: nothing more is sent, the broker requeues what was not acked. */
static void end_supervisor(struct world *world)
{
	link_release(&world->links[0]);
	link_release(&world->links[1]);
	for (struct station *station = world->stations; station < stations_end(world); station++)
		station_end(station);
}

static void command(struct world *world, enum command what)
{
	struct event event = {.kind = COMMAND, .command = what};

	sim_trace("command %s", what == COMMAND_DRAIN ? "drain" : "force");
	for (struct station *station = world->stations; station < stations_end(world); station++)
		pool_step(station->pool, world->now, &event);
}

static bool is_quiet(struct world *world)
{
	for (struct station *station = world->stations; station < stations_end(world); station++)
		if (!pool_is_quiet(station->pool))
			return false;
	return true;
}

static void end_turn(struct world *world)
{
	for (struct station *station = world->stations; station < stations_end(world); station++)
		station_turn(station);
}

static mtime next_deadline(struct world *world)
{
	mtime next = broker_deadline(world->broker);

	for (struct station *station = world->stations; station < stations_end(world); station++)
		next = mtime_min(next, station_deadline(station));
	for (int i = 0; i < 2; i++)
		if (!world->links[i].connection)
			next = mtime_min(next, world->links[i].retry_at);
	return next;
}

static void set_time(struct world *world, mtime now)
{
	world->now = now;
	broker_set_time(world->broker, now);
}

/* ---------- chance ---------- */

static void work_queue_comes_and_goes(struct world *world)
{
	if (world->queue_vanishes && random_chance(&world->random, 400)) {
		account_forgive(&world->account);
		broker_delete(world->broker, WORLD_QUEUE);
	} else {
		broker_declare(world->broker, WORLD_QUEUE, true);
	}
}

static void inject_fault(struct world *world)
{
	struct client_link *link = &world->links[random_below(&world->random, 2)];
	uint16_t channel = any_station(world)->channel;

	switch (random_below(&world->random, 12)) {
	case 0:
		link_cut(link, false);
		break;
	case 1:
		world->account.channels_fail = world->account.channels_fail || link->publishes;
		if (link->up)
			broker_close_channel(link->peer, channel, 406);
		break;
	case 2:
		world->account.channels_fail = world->account.channels_fail || link->publishes;
		if (link->up)
			broker_close_connection(
				link->peer, random_chance(&world->random, 500) ? 320 : 541);
		break;
	case 3:
		if (world->links[0].up)
			broker_cancel_consumers(world->links[0].peer, channel);
		break;
	case 4:
		broker_delete(world->broker, WORLD_REPLIES);
		break;
	case 5:
		broker_declare(world->broker, WORLD_REPLIES, true);
		break;
	case 6:
		broker_delete(world->broker, WORLD_DEAD);
		break;
	case 7:
		broker_set_alarm(world->broker, random_chance(&world->random, 500));
		break;
	case 8:
		work_queue_comes_and_goes(world);
		break;
	case 9:
		broker_age(world->broker, WORLD_QUEUE);
		break;
	case 10:
		broker_delete_idle(world->broker);
		break;
	default:
		broker_set_nacks(world->broker, random_below(&world->random, 200));
		break;
	}
	world->moved = true;
}

static void advance(struct world *world)
{
	mtime next = next_deadline(world);

	if (random_chance(&world->random, 30) && next != MTIME_NEVER && next > world->now)
		set_time(world, next);
	else
		set_time(world, world->now + random_below(&world->random, 2000));
}

static void chance_round(struct world *world)
{
	uint32_t what = random_below(&world->random, 100);
	struct station *station = any_station(world);

	advance(world);
	for (int i = 0; i < 2; i++)
		link_tick(&world->links[i]);
	if (what < 30)
		link_move(&world->links[random_below(&world->random, 2)]);
	else if (what < 45)
		broker_work(world->broker, false);
	else if (what < 70)
		workers_act(&station->workers,
			(uint16_t)random_below(&world->random, station->config.workers));
	else if (what < 95)
		end_turn(world);
	else if (what < 98)
		arrival_publish(world);
	else if (random_chance(&world->random, 250))
		inject_fault(world);
}

/* ---------- calm ---------- */

static void calm_round(struct world *world)
{
	mtime next;

	world->moved = false;
	for (int i = 0; i < 2; i++) {
		link_tick(&world->links[i]);
		link_move(&world->links[i]);
	}
	broker_work(world->broker, true);
	for (struct station *station = world->stations; station < stations_end(world); station++)
		for (uint16_t i = 0; i < station->config.workers; i++)
			workers_act(&station->workers, i);
	end_turn(world);
	next = next_deadline(world);
	if (!world->moved && next != MTIME_NEVER && next > world->now)
		set_time(world, next);
	else
		set_time(world, world->now + MTIME_MS);
}

/* The dead letters are the pools' own to declare. */
static void calm_down(struct world *world)
{
	world->calm = true;
	broker_declare(world->broker, WORLD_QUEUE, true);
	broker_declare(world->broker, WORLD_REPLIES, true);
	broker_set_nacks(world->broker, 0);
	broker_set_alarm(world->broker, false);
}

static void settle_everything(struct world *world)
{
	uint32_t rounds = 0;

	calm_down(world);
	while (broker_count(world->broker, WORLD_QUEUE) + broker_waiting(world->broker) > 0)
		if (++rounds > ROUNDS_MAX)
			sim_fail("%zu messages are still in the queue of a calm world, %zu wait",
				broker_count(world->broker, WORLD_QUEUE),
				broker_waiting(world->broker));
		else
			calm_round(world);
}

/* Drained: no attempt that ended was for nothing. */
static void stop_in_order(struct world *world)
{
	uint32_t rounds = 0;

	calm_down(world);
	world->account.stops = true;
	command(world, COMMAND_DRAIN);
	while (!is_quiet(world))
		if (++rounds > ROUNDS_MAX)
			sim_fail("the pool does not become quiet");
		else
			calm_round(world);
	for (struct station *station = world->stations; station < stations_end(world); station++) {
		sim_require(
			!workers_is_anyone_alive(&station->workers), "a worker outlived the pool");
		sim_require(!pool_was_forced(station->pool), "a drain calls itself forced");
	}
	world->account.stops = false;
	world->calm = false;
}

/* Nothing comes back to the broker at all. */
static void stop_at_rest(struct world *world)
{
	uint64_t redeliveries = world->account.redeliveries;

	stop_in_order(world);
	sim_require(world->account.redeliveries == redeliveries, "a stop at rest redelivers");
}

/* ---------- a run ---------- */

/* All of them work on one queue, so that the account need not ask who did what. */
static void choose_retries(struct random *random, struct settle_policy *policy)
{
	static const mtime delays[] = {
		250 * MTIME_MS, MTIME_SECOND, 10 * MTIME_SECOND, MTIME_MINUTE};

	policy->retried = SETTLE_RETRIED_ALL;
	if (random_chance(random, 300))
		policy->retried &= (uint32_t)random_next(random);
	policy->delay_count = (uint8_t)random_below(random, 4);
	for (uint8_t i = 0; i < policy->delay_count; i++)
		policy->delays[i] = delays[random_below(random, 4)];
}

static void choose_stations(struct world *world)
{
	struct random *random = &world->random;
	struct settle_policy policy = {
		.attempts = (uint16_t)(1 + random_below(random, 4)),
		.dead_letter_by_broker = random_chance(random, 200),
		.unroutable = random_below(random, 3),
		.slices = 100,
		.queue = TEXT(WORLD_QUEUE),
	};

	choose_retries(random, &policy);
	world->station_count = (uint16_t)(1 + random_below(random, STATIONS_MAX));
	for (uint16_t i = 0; i < world->station_count; i++) {
		world->stations[i].world = world;
		world->stations[i].channel = i + 1;
		station_choose(&world->stations[i], &policy);
	}
	world->account.drops_unroutable = policy.unroutable == UNROUTABLE_DROP;
}

static struct world *world_new(uint64_t seed)
{
	struct world *world = calloc(1, sizeof *world);

	sim_require(world, "out of memory");
	world->seed = seed;
	world->now = MTIME_SECOND;
	random_init(&world->random, seed);
	choose_stations(world);
	world->queue_vanishes = random_chance(&world->random, 150);
	world->params = (struct connection_params){.user = "guest",
		.password = "guest",
		.vhost = "/",
		.name = "sim",
		.heartbeat_s = 60,
		.frame_max = 131072,
		.output_limit = 64 * 1024 * 1024,
		.body_limit = 64 * 1024 * 1024};
	world->account.queue = WORLD_QUEUE;
	world->account.replies = WORLD_REPLIES;
	world->account.dead = WORLD_DEAD;
	world->watch = account_watch(&world->account);
	world->broker = broker_new(&world->random, &world->watch);
	broker_declare(world->broker, WORLD_QUEUE, random_chance(&world->random, 500));
	broker_declare(world->broker, WORLD_REPLIES, true);
	return world;
}

static void live_through_chance(struct world *world)
{
	uint32_t rounds = 200 + random_below(&world->random, 1500);

	start_supervisor(world);
	for (uint32_t i = 0; i < rounds; i++)
		chance_round(world);
	switch (random_below(&world->random, 4)) {
	case 0: /* killed */
		break;
	case 1: /* stopped under load */
		stop_in_order(world);
		break;
	case 2: /* asked to stop, and killed in the middle of it */
		command(world, COMMAND_DRAIN);
		for (uint32_t i = random_below(&world->random, 400); i > 0; i--)
			chance_round(world);
		break;
	default: /* forced */
		command(world, COMMAND_FORCE);
		for (uint32_t i = 0; i < 400 && !is_quiet(world); i++)
			chance_round(world);
		break;
	}
	end_supervisor(world);
}

void world_run(uint64_t seed)
{
	struct world *world = world_new(seed);
	uint32_t lives = random_below(&world->random, 3);

	while (world->account.messages < MESSAGES_MIN)
		arrival_publish(world);
	for (uint32_t i = 0; i < lives; i++)
		live_through_chance(world);
	start_supervisor(world);
	for (uint32_t i = random_below(&world->random, 2000); i > 0; i--)
		chance_round(world);
	settle_everything(world);
	stop_at_rest(world);
	end_supervisor(world);
	account_close(&world->account, world->stations[0].config.policy.attempts);
	broker_free(world->broker);
	free(world);
}
