#include "sim/chance.h"

#include "core/pool_internal.h"
#include "sim/arrival.h"
#include "sim/cover.h"
#include "sim/fail.h"
#include "sim/link.h"
#include "sim/order_verbs.h"
#include "sim/reload.h"
#include "sim/supervisor.h"
#include "sim/tokens.h"

#define PURGES_IN_1000   300
#define RESTLESS_IN_1000 8
#define PAUSE_MAX_S      (35 * 60) /* longer than the broker's ack timeout */

static struct supervisor *any_supervisor(struct world *world)
{
	uint32_t count = world->supervisor_count;

	return &world->supervisors[count > 1 ? random_below(&world->random, count) : 0];
}

static struct pool_runtime *any_pool(struct world *world, struct supervisor *supervisor)
{
	uint32_t count = supervisor->pool_count;
	uint32_t place = count > 1 ? random_below(&world->random, count) : 0;

	while (supervisor->pools[place].presence == POOL_ABSENT)
		place = (place + 1) % count; /* one is always there */
	return &supervisor->pools[place];
}

static struct client_link *any_link(struct world *world, struct supervisor *supervisor)
{
	return &supervisor->links[random_below(&world->random, 1 + supervisor->pool_count)];
}

/* ---------- faults of the broker and the wires ---------- */

static void close_a_channel(struct client_link *link, uint16_t channel)
{
	struct world *world = link->world;

	world->account.channels_fail = world->account.channels_fail || link_publishes(link);
	broker_close_channel(link->peer, channel, random_chance(&world->random, 500) ? 406 : 541);
}

/* 320: an operator, or a broker that stops; the others name a mistake of the client. */
static void close_a_connection(struct client_link *link)
{
	static const uint16_t codes[] = {320, 320, 320, 541, 501, 504, 506, 530};
	struct world *world = link->world;

	world->account.channels_fail = world->account.channels_fail || link_publishes(link);
	broker_close_connection(
		link->peer, codes[random_below(&world->random, sizeof codes / sizeof *codes)]);
}

static void purge_one(void *ctx, struct text properties, struct text body)
{
	(void)properties;
	account_purged(ctx, body);
}

/* With sessions: perhaps while a pool expects that these come again. */
static void purge_work(struct world *world)
{
	sim_trace("broker: the queue is purged");
	broker_visit(world->broker, WORLD_QUEUE, purge_one, &world->account);
	broker_purge(world->broker, WORLD_QUEUE);
}

static void work_queue_comes_and_goes(struct world *world)
{
	if (world->order.is_on && random_chance(&world->order.random, PURGES_IN_1000))
		purge_work(world);
	else if (world->queue_vanishes && random_chance(&world->random, 400)) {
		account_forgive(&world->account);
		broker_delete(world->broker, WORLD_QUEUE);
	} else {
		world_declare_work(world);
	}
}

static void replies_come_and_go(struct world *world)
{
	if (random_chance(&world->random, 500))
		broker_delete(world->broker, WORLD_REPLIES);
	else
		broker_declare(world->broker, WORLD_REPLIES, true);
}

/* What several supervisors hold comes and goes at different times. */
static void stand_still(struct world *world, struct supervisor *supervisor)
{
	cover_mark(COVER_OPERATOR, OPERATOR_FREEZE, supervisor->state);
	supervisor->frozen = random_below(&world->random, world->order.has_token ? 3000 : 300);
	sim_trace("supervisor %u stands still", supervisor->number);
}

static void pause(struct world *world)
{
	mtime span = (mtime)random_below(&world->random, PAUSE_MAX_S) * MTIME_SECOND;

	sim_trace("all stands still for %lld s", (long long)(span / MTIME_SECOND));
	world_set_time(world, world->now + span);
}

/* Its channel is closed, or its queue is purged, deleted, or published to by others. */
static void trouble_token(
	struct world *world, struct client_link *link, const struct pool_runtime *runtime)
{
	uint32_t what = random_below(&world->random, 100);

	if (!world->order.has_token)
		return;
	if (what < 10 && world->order.token_vanishes)
		broker_delete(world->broker, WORLD_TOKEN);
	else if (what < 20 && world->order.token_vanishes)
		broker_purge(world->broker, WORLD_TOKEN);
	else if (what < 45 && world->order.token_vanishes)
		tokens_forge(world);
	else if (link->up && !link->is_dark)
		broker_close_channel(
			link->peer, tokens_channel(runtime, link_publishes(link)), 406);
}

/* The only consumer of a queue with a single active one is cancelled when the queue is deleted. */
static void trouble_link(struct world *world, enum trouble what)
{
	struct supervisor *supervisor = any_supervisor(world);
	struct client_link *link = any_link(world, supervisor);
	struct pool_runtime *runtime = any_pool(world, supervisor);

	if (!supervisor_is_alive(supervisor))
		return;
	if (what == TROUBLE_CUT && world->order.has_token && random_chance(&world->random, 300))
		link_darken(link);
	else if (what == TROUBLE_CUT)
		link_cut(link, false);
	else if (what == TROUBLE_TOKEN)
		trouble_token(world, link, runtime);
	else if (link->is_dark)
		return;
	else if (what == TROUBLE_CHANNELS && link->up)
		close_a_channel(link, (link->runtime ? link->runtime : runtime)->channel);
	else if (what == TROUBLE_CONNECTIONS && link->up)
		close_a_connection(link);
	else if (what == TROUBLE_CANCEL && pool_link(runtime)->up && !world->order.is_on)
		broker_cancel_consumers(pool_link(runtime)->peer, runtime->channel);
	else if (what == TROUBLE_FREEZE)
		stand_still(world, supervisor);
}

static void make_trouble(struct world *world, enum trouble what)
{
	struct random *random = &world->random;

	switch (what) {
	case TROUBLE_REPLIES:
		replies_come_and_go(world);
		break;
	case TROUBLE_DEAD:
		broker_delete(world->broker, WORLD_DEAD);
		break;
	case TROUBLE_QUEUE:
		work_queue_comes_and_goes(world);
		break;
	case TROUBLE_RETRY_QUEUES:
		broker_delete_idle(world->broker);
		break;
	case TROUBLE_ALARM:
		broker_set_alarm(world->broker, random_chance(random, 500));
		break;
	case TROUBLE_NACKS:
		broker_set_nacks(world->broker, random_below(random, 200));
		break;
	case TROUBLE_AGE:
		broker_age(world->broker, WORLD_QUEUE);
		break;
	case TROUBLE_PAUSE:
		if (random_chance(random, 200))
			pause(world);
		break;
	default:
		trouble_link(world, what);
		break;
	}
	world->moved = true;
}

static __attribute__((noinline)) void any_trouble(struct world *world)
{
	static const enum trouble troubles[] = {TROUBLE_CUT, TROUBLE_CHANNELS, TROUBLE_CONNECTIONS,
		TROUBLE_CANCEL, TROUBLE_REPLIES, TROUBLE_DEAD, TROUBLE_QUEUE, TROUBLE_RETRY_QUEUES,
		TROUBLE_ALARM, TROUBLE_NACKS, TROUBLE_AGE, TROUBLE_FREEZE, TROUBLE_PAUSE,
		TROUBLE_TOKEN};
	enum trouble what =
		troubles[random_below(&world->random, sizeof troubles / sizeof *troubles)];

	if (settings_has(world->settings, what)) {
		cover_mark(COVER_TROUBLE, what, 0);
		make_trouble(world, what);
	}
}

/* ---------- operators ---------- */

static void start(struct world *world, struct supervisor *supervisor)
{
	if (random_chance(&world->random, 300)) {
		EACH_POOL(supervisor, runtime)
		{
			pool_runtime_resize(runtime);
		}
	}
	supervisor_start(supervisor);
}

/* A drain may be asked for twice, and a force may follow it, or another one. */
static __attribute__((noinline)) void operate(struct world *world)
{
	struct supervisor *supervisor = any_supervisor(world);
	uint32_t what = random_below(&world->random, 100);

	if (!supervisor_is_alive(supervisor)) {
		start(world, supervisor);
	} else if (what < 40) {
		if (world_wants(world, TROUBLE_KILL, 1000))
			supervisor_kill(supervisor);
	} else if (supervisor->state != SUPERVISOR_LEAVES &&
		   world_wants(world, TROUBLE_STOP, 1000)) {
		supervisor_command(supervisor, what < 75 ? COMMAND_DRAIN : COMMAND_FORCE);
	}
}

/* ---------- a round ---------- */

#define STEP_MAX      2000 /* microseconds */
#define JUMPS_IN_1000 30

static void advance(struct world *world, uint32_t chance)
{
	const uint32_t jumps = STEP_MAX * JUMPS_IN_1000 / (1000 - JUMPS_IN_1000);
	uint32_t step = random_scaled(chance, STEP_MAX + jumps);
	mtime next;

	if (step >= STEP_MAX && (next = world_deadline(world)) != MTIME_NEVER && next > world->now)
		world_set_time(world, next);
	else
		world_set_time(world, world->now + step % STEP_MAX);
}

static void step_supervisor(struct world *world, uint32_t what)
{
	struct supervisor *supervisor = any_supervisor(world);
	struct pool_runtime *runtime;

	if (!supervisor_is_alive(supervisor))
		return;
	if (supervisor->frozen > 0) {
		supervisor->frozen--;
		return;
	}
	EACH_LINK(supervisor, link)
	{
		link_tick(link);
	}
	if (what < 30) {
		link_move(any_link(world, supervisor));
	} else if (what < 60) {
		runtime = any_pool(world, supervisor);
		workers_act(&runtime->workers,
			(uint16_t)random_below(&world->random, runtime->pool->slots.all.count));
	} else {
		supervisor_turn(supervisor);
	}
}

void chance_round(struct world *world)
{
	uint64_t chance = random_next(&world->random);
	uint32_t what = random_scaled((uint32_t)(chance >> 32), 1000);

	advance(world, (uint32_t)chance);
	if (world->order.is_restless && random_chance(&world->order.random, RESTLESS_IN_1000))
		operate(world);
	if (world->order.is_on)
		order_verbs_chance(world);
	steer_kill_chance(world);
	throttles_chance(world);
	if (what < 820)
		step_supervisor(world, what / 10);
	else if (what < 960)
		broker_work(world->broker, !world_wants(world, TROUBLE_LATE, 1000));
	else if (what < 988)
		arrival_publish(world);
	else if (what < 996)
		any_trouble(world);
	else if (what < 998)
		operate(world);
	else if (what < 999)
		steer_any(world);
	else
		reload_any(world);
}
