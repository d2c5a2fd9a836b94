#include "sim/world.h"

#include "core/pool_internal.h"
#include "sim/arrival.h"
#include "sim/chance.h"
#include "sim/choose.h"
#include "sim/cover.h"
#include "sim/fail.h"
#include "sim/link.h"
#include "sim/order_facts.h"
#include "sim/order_verbs.h"
#include "sim/reload.h"
#include "sim/start_costs.h"
#include "sim/supervisor.h"
#include "sim/tokens.h"

#include <stdlib.h>

#define ROUNDS_MAX       10000000 /* a calm world that has not ended by then hangs */
#define MESSAGES_MIN     20
#define NAMED_DEATHS_MAX 3
#define HEADERS_MAX      1024
#define RELEASE_4_0      333 /* of a thousand worlds, so many have RabbitMQ 4.0 */

bool world_may(const struct world *world, enum trouble trouble)
{
	if (!settings_has(world->settings, trouble))
		return false;
	cover_mark(COVER_TROUBLE, trouble, 0);
	return true;
}

void world_set_time(struct world *world, mtime now)
{
	start_costs_pass(world, now - world->now);
	world->now = now;
	sim_now = now;
	broker_set_time(world->broker, now);
	tokens_guard(world);
}

void world_declare_work(struct world *world)
{
	if (world->order.is_single)
		broker_declare_single(world->broker, WORLD_QUEUE);
	else
		broker_declare(world->broker, WORLD_QUEUE, world->is_quorum);
	world->is_quorum = true;
}

mtime world_deadline(struct world *world)
{
	mtime next = mtime_min(broker_deadline(world->broker), tokens_guard_deadline(world));

	EACH_SUPERVISOR(world, supervisor)
	{
		bool is_stopped = supervisor->frozen > 0 && world->order.has_token && !world->calm;

		if (supervisor_is_alive(supervisor) && !is_stopped)
			next = mtime_min(next, supervisor_deadline(supervisor));
	}
	return next;
}

/* ---------- calm ---------- */

static void calm_workers(struct pool_runtime *runtime)
{
	struct workers *workers = &runtime->workers;

	for (uint32_t rest = workers->restless; rest; rest &= rest - 1) {
		uint16_t slot = (uint16_t)__builtin_ctz(rest);

		if (workers_is_at_rest(workers, slot))
			workers->restless &= ~(1u << slot);
		else
			workers_act(workers, slot);
	}
}

/* A turn needs an event or a deadline, so a wrong deadline makes the run hang. */
static void calm_supervisor(struct supervisor *supervisor)
{
	struct world *world = supervisor->world;
	bool had_moved = world->moved;

	if (world->order.is_on && world->account.stops == 0 &&
		supervisor->state == SUPERVISOR_SERVES)
		order_verbs_calm(supervisor);

	world->moved = false;
	EACH_LINK(supervisor, link)
	{
		link_tick(link);
		link_move(link);
	}
	EACH_POOL(supervisor, runtime)
	{
		calm_workers(runtime);
	}
	if (world->moved || supervisor->has_events ||
		supervisor_deadline(supervisor) <= world->now) {
		supervisor_turn(supervisor);
		world->moved = true; /* it may have something to send before time jumps */
	}
	world->moved = world->moved || had_moved;
}

static void calm_round(struct world *world)
{
	mtime next = MTIME_NEVER;

	world->moved = false;
	broker_work(world->broker, true);
	EACH_SUPERVISOR(world, supervisor)
	{
		if (supervisor_is_alive(supervisor))
			calm_supervisor(supervisor);
	}
	if (!world->moved && !broker_is_logging(world->broker))
		next = world_deadline(world);
	if (next != MTIME_NEVER && next > world->now)
		world_set_time(world, next);
	else
		world_set_time(world, world->now + MTIME_MS);
}

/* The pools declare the queue of dead letters themselves. */
static void calm_down(struct world *world)
{
	sim_trace("calm");
	world->calm = true;
	world_declare_work(world);
	broker_declare(world->broker, WORLD_REPLIES, true);
	broker_set_nacks(world->broker, 0);
	broker_set_alarm(world->broker, false);
	EACH_SUPERVISOR(world, supervisor)
	{
		supervisor->has_events = true; /* its turn is still to come */
		supervisor->frozen = 0;
		EACH_LINK(supervisor, link)
		{
			if (link->is_dark)
				link_cut(link, false);
		}
		EACH_POOL(supervisor, runtime)
		{
			workers_wake(&runtime->workers);
		}
	}
}

/* At least one supervisor must be there to do the work. */
static void start_all(struct world *world)
{
	EACH_SUPERVISOR(world, supervisor)
	{
		if (!supervisor_is_alive(supervisor))
			supervisor_start(supervisor);
	}
}

/* A task from a queue that was deleted may still put a copy into the new one. */
static bool is_settled(struct world *world)
{
	EACH_SUPERVISOR(world, supervisor)
	{
		if (supervisor_is_alive(supervisor) && !supervisor_is_idle(supervisor))
			return false;
		if (!steer_is_done(supervisor) || !reload_is_done(supervisor))
			return false;
	}
	return broker_count(world->broker, WORLD_QUEUE) + broker_waiting(world->broker) == 0 &&
	       tokens_are_settled(world);
}

static void mend_all(struct world *world)
{
	EACH_SUPERVISOR(world, supervisor)
	{
		reload_mend(supervisor);
	}
}

/* A holder that names what it runs dies of it, a few times. Then its successor has only that to
 * work off, so it happens while all else is calm. */
static void kill_holder_that_names(struct world *world)
{
	struct order *order = &world->order;

	EACH_SUPERVISOR(world, supervisor)
	{
		if (!order->is_restless || order->named_deaths == NAMED_DEATHS_MAX ||
			!supervisor_is_alive(supervisor) ||
			!order_takeover_has_named(&supervisor->pools[0]) ||
			!settings_has(world->settings, TROUBLE_KILL) ||
			!random_chance(&order->random, 300))
			continue;
		order->named_deaths++;
		supervisor_kill(supervisor);
	}
}

static void settle_everything(struct world *world)
{
	uint32_t rounds = 0;

	calm_down(world);
	EACH_SUPERVISOR(world, supervisor)
	{
		steer_resume(supervisor);
	}
	broker_set_ack_timeout(world->broker,
		world->ack_timeout == MTIME_NEVER ? MTIME_NEVER : CHOOSE_ACK_TIMEOUT);
	while (!is_settled(world)) {
		if (++rounds > ROUNDS_MAX)
			sim_fail("%zu messages are still in the queue of a calm world, %zu wait",
				broker_count(world->broker, WORLD_QUEUE),
				broker_waiting(world->broker));
		start_all(world);
		mend_all(world);
		calm_round(world);
		kill_holder_that_names(world);
	}
	start_all(world);
	EACH_SUPERVISOR(world, supervisor)
	{
		EACH_POOL(supervisor, runtime)
		{
			if (world->order.is_on)
				order_facts_check_rest(runtime);
		}
	}
}

static bool is_any_stopping(struct world *world, uint32_t stops)
{
	EACH_SUPERVISOR(world, supervisor)
	{
		if ((stops >> supervisor->number & 1) && supervisor_is_alive(supervisor))
			return true;
	}
	return false;
}

/* Its channel is there, and acks that are sent before its end are not lost; or it has nothing to
 * ack. */
static bool has_safe_channel(const struct pool_runtime *runtime)
{
	if (runtime->hand.is_standby && runtime->pool->tasks.source.state == SOURCE_IS_ABSENT)
		return true;
	return runtime->pool->tasks.source.state == SOURCE_IS_CONSUMING &&
	       consumer_order(runtime->consumer) == QUEUE_ORDER_SINGLE;
}

static bool has_safe_channels(const struct supervisor *supervisor)
{
	EACH_POOL((struct supervisor *)supervisor, runtime)
	{
		if (!has_safe_channel(runtime))
			return false;
	}
	return true;
}

static bool is_any_without_channel(const struct world *world)
{
	for (uint16_t i = 0; i < world->supervisor_count; i++)
		if (supervisor_is_alive(&world->supervisors[i]) &&
			!has_safe_channels(&world->supervisors[i]))
			return true;
	return false;
}

/* With sessions: without a single active consumer a pool cannot wait for its last acks, and what
 * ends without a channel is acked only on the next one. */
static bool loses_acks(const struct world *world)
{
	return world->order.is_on &&
	       (is_any_without_channel(world) || broker_is_returning(world->broker));
}

/* Drain supervisors in a calm world: no attempt that has ended may be repeated. */
static void stop_in_order(struct world *world, uint32_t stops)
{
	uint32_t rounds = 0;

	calm_down(world);
	broker_set_ack_timeout(world->broker, MTIME_NEVER);
	world->account.stops = loses_acks(world) ? 0 : stops;
	EACH_SUPERVISOR(world, supervisor)
	{
		if (stops >> supervisor->number & 1)
			supervisor_command(supervisor, COMMAND_DRAIN);
	}
	while (is_any_stopping(world, stops)) {
		if (++rounds > ROUNDS_MAX)
			sim_fail("the pool does not become quiet");
		calm_round(world);
	}
	world->account.stops = 0;
	broker_set_ack_timeout(world->broker, world->ack_timeout);
	world->calm = false;
}

/* Check that nothing was requeued. */
static void stop_at_rest(struct world *world)
{
	uint64_t redeliveries = world->account.redeliveries;
	bool loses = loses_acks(world);

	stop_in_order(world, ~0u);
	sim_require(
		world->account.redeliveries == redeliveries || loses, "a stop at rest redelivers");
}

static bool is_steered(struct world *world)
{
	EACH_SUPERVISOR(world, supervisor)
	{
		if (!steer_is_done(supervisor) || !reload_is_done(supervisor))
			return false;
	}
	return true;
}

/* Send commands and reload in a calm world: no attempt that has ended may be repeated, whichever
 * pools are added or removed. */
static void steer_all(struct world *world)
{
	uint32_t rounds = 0;

	calm_down(world);
	broker_set_ack_timeout(world->broker, MTIME_NEVER);
	EACH_SUPERVISOR(world, supervisor)
	{
		/* with sessions what comes again is not repeated for that (order.h) */
		if (supervisor->state == SUPERVISOR_SERVES && !world->order.is_on)
			world->account.stops |= 1u << supervisor->number;
		steer_in_order(supervisor);
		if (settings_has(world->settings, TROUBLE_RELOAD))
			reload_in_order(supervisor);
	}
	while (!is_steered(world)) {
		if (++rounds > ROUNDS_MAX)
			sim_fail("the workers that are wanted do not come");
		mend_all(world);
		calm_round(world);
	}
	world->account.stops = 0;
	broker_set_ack_timeout(world->broker, world->ack_timeout);
	world->calm = false;
}

/* ---------- a run ---------- */

static struct world *world_make(void)
{
	struct world *world = calloc(1, sizeof *world);

	sim_require(world, "out of memory");
	buf_init(&world->headers, HEADERS_MAX);
	buf_init(&world->properties, 2 * HEADERS_MAX);
	return world;
}

static struct world *world_new(uint64_t seed, const struct settings *settings)
{
	static struct world *world; /* one after the other: it is large, and little of it is used */

	if (!world)
		world = world_make();
	account_clear(&world->account);
	world->calm = false;
	world->seed = seed;
	world->settings = settings;
	world->now = MTIME_SECOND;
	random_init(&world->random, seed);
	order_choose(world);
	throttles_choose(world);
	start_costs_choose(world);
	world->has_many_tasks = random_chance(&world->random, 500);
	choose_pools(world);
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
	if (world_wants(world, TROUBLE_RELEASE, RELEASE_4_0))
		broker_set_release(world->broker, BROKER_4_0);
	if (world->order.is_on)
		broker_return_late(world->broker);
	broker_expect_unannounced(world->broker, WORLD_TOKEN);
	world->is_quorum = random_chance(&world->random, 500) || world->order.is_on;
	world_declare_work(world);
	choose_limits(world);
	broker_declare(world->broker, WORLD_REPLIES, true);
	return world;
}

/* Drain some supervisors while nothing else happens; the others go on. */
static void stop_some(struct world *world)
{
	uint32_t stops = random_below(&world->random, 1u << (SUPERVISORS_MAX + 1));

	EACH_SUPERVISOR(world, supervisor)
	{
		if (world->order.is_restless && !supervisor->pools[0].hand.is_standby)
			stops |= 1u << supervisor->number;
		if (supervisor->state != SUPERVISOR_SERVES)
			stops &= ~(1u << supervisor->number);
	}
	if (stops && settings_has(world->settings, TROUBLE_STOP))
		stop_in_order(world, stops);
}

static void live(struct world *world)
{
	uint32_t spells = 1 + random_below(&world->random, 3);

	tokens_precede(world);
	start_all(world);
	for (uint32_t spell = 0; spell < spells; spell++) {
		uint32_t rounds = random_below(&world->random, 2000);

		if (rounds > world->settings->rounds)
			rounds = world->settings->rounds;
		for (uint32_t i = 0; i < rounds; i++)
			chance_round(world);
		if (random_chance(&world->random, 250) || world->order.is_restless)
			stop_some(world);
		if (random_chance(&world->random, 250) &&
			settings_has(world->settings, TROUBLE_STEER))
			steer_all(world);
	}
}

void world_run(uint64_t seed, const struct settings *settings)
{
	struct world *world = world_new(seed, settings);

	while (world->account.messages < MESSAGES_MIN &&
		world->account.messages < settings->messages)
		arrival_publish(world);
	live(world);
	settle_everything(world);
	stop_at_rest(world);
	account_close(&world->account, world->policy.attempts);
	broker_free(world->broker);
}
