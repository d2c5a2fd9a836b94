/* Which runs have sessions, how these are configured, and which messages belong to them. */
#include "amqp/table.h"
#include "sim/cover.h"
#include "sim/fail.h"
#include "sim/order_twins.h"
#include "sim/world.h"

#define SESSIONS_EVERY 4 /* seeds */
#define PREFETCH_MAX   40
#define OTHER_WINDOWS  300 /* of a thousand reloads */
#define TOKENS_IN_1000 600 /* of the runs with a single active consumer */
#define SLICES_IN_1000 100 /* more of the messages with a key, where a holder may leave */
#define PRIORITY_HIGH  5
#define PRIORITIES     10

static const char longest[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
			      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
			      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
			      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde";

struct text order_key(uint8_t key)
{
	const struct text keys[ORDER_KEYS_MAX + 1] = {TEXT(""), TEXT("1"), TEXT("b"),
		TEXT("\xc3\xbc"), TEXT(longest), TEXT("-5"), TEXT("a key with spaces")};

	return keys[key];
}

static mtime choose_time(struct random *random, const mtime *times, uint32_t count)
{
	return times[random_below(random, count)];
}

static mtime choose_delay(struct random *random)
{
	static const mtime delays[] = {3 * MTIME_SECOND, 30 * MTIME_SECOND, 10 * MTIME_MINUTE};

	return choose_time(random, delays, 3);
}

/* What a reload may change. */
static void choose_config(struct random *random, struct session_config *config)
{
	static const mtime quanta[] = {1, MTIME_MS, 50 * MTIME_MS},
			   idles[] = {0, 0, 100 * MTIME_MS, 30 * MTIME_SECOND},
			   ages[] = {MTIME_NEVER, MTIME_MINUTE, 10 * MTIME_MINUTE};

	config->quantum = random_chance(random, 700) ? 1 + random_below(random, 4) : 0;
	config->quantum_time = choose_time(random, quanta, 3);
	config->on_failure = random_chance(random, 300) ? SESSION_BLOCK : SESSION_SKIP;
	config->idle = choose_time(random, idles, 4);
	config->max_active = random_chance(random, 300) ? 1 + random_below(random, 4) : 0;
	config->max_sessions = random_chance(random, 300) ? 1 + random_below(random, 6) : 1000;
	config->max_unacked_age = choose_time(random, ages, 3);
}

void order_choose(struct world *world)
{
	struct order *order = &world->order;
	struct random *random = &order->random;

	memset(order, 0, sizeof *order);
	world->account.order = order;
	random_init(random, ~world->seed);
	if (world->seed % SESSIONS_EVERY || !world_may(world, TROUBLE_SESSIONS))
		return;
	order->is_on = true;
	order->is_single = random_chance(random, 800);
	order->prefetch = (uint16_t)(1 + random_below(random, PREFETCH_MAX));
	order->keys = 1 + random_below(random, ORDER_KEYS_MAX);
	order->keyed_share = random_chance(random, 500) ? 1000 : random_below(random, 1000);
	order->is_required = random_chance(random, 200);
	order->has_twins = random_chance(random, 500);
	order->has_token = order->is_single && random_chance(random, TOKENS_IN_1000) &&
			   world_may(world, TROUBLE_TOKEN);
	order->is_restless = order->has_token && random_chance(random, 500);
	order->token_vanishes = order->has_token && random_chance(random, 300);
	order->config = (struct session_config){.is_on = true,
		.takeover_delay = order->has_token ? choose_delay(random) : MTIME_NEVER,
		.is_return_free = random_chance(random, 500)};
	choose_config(random, &order->config);
}

void order_configure(struct pool_runtime *runtime)
{
	struct order *order = &runtime->world->order;

	if (!order->is_on)
		return;
	choose_config(&order->random, &order->config);
	runtime->config.session = order->config;
	runtime->config.prefetch = order->prefetch;
	runtime->config.memory = SIZE_MAX / 4;
	runtime->config.policy.blocks_session = order->config.on_failure == SESSION_BLOCK;
}

void order_choose_again(struct pool_runtime *runtime)
{
	struct order *order = &runtime->world->order;

	if (order->has_token && random_chance(&order->random, OTHER_WINDOWS))
		runtime->config.session.takeover_delay = choose_delay(&order->random);

	if (order->is_on && !order->token_vanishes && random_chance(&order->random, OTHER_WINDOWS))
		runtime->config.prefetch =
			(uint16_t)(1 + random_below(&order->random, PREFETCH_MAX));
}

void order_keep_window(struct pool_runtime *runtime)
{
	uint16_t used = runtime->world->order.used;

	if (runtime->world->order.is_on && !runtime->world->order.has_token)
		runtime->config.prefetch = used ? used : runtime->world->order.prefetch;
}

void order_configure_consumer(const struct order *order, struct consumer_config *config)
{
	if (!order->is_on)
		return;
	config->key = (struct key_source){
		.kind = KEY_HEADER, .header = TEXT("session"), .is_required = order->is_required};
	config->is_ordered = true;
	config->has_token = order->has_token;
	config->is_return_free = order->config.is_return_free;
}

/* ---------- arrivals ---------- */

/* Some keys have more messages than others. An integer is the same key as its digits. */
static void put_key(struct random *random, uint8_t key, struct buf *headers)
{
	bool is_digits = key == 1 || key == 5;

	if (is_digits && random_chance(random, 500))
		table_put_integer(headers, TEXT("session"), key == 1 ? 1 : -5);
	else
		table_put_string(headers, TEXT("session"), order_key(key));
}

static void put_bad_key(struct random *random, struct buf *headers)
{
	uint32_t which = random_below(random, 3);

	if (which == 0)
		table_put_string(headers, TEXT("session"), TEXT_NONE);
	else if (which == 1)
		table_put_string(headers, TEXT("session"), TEXT("\xff"));
	else
		table_put_bool(headers, TEXT("session"), true);
}

uint8_t order_arrive(struct world *world, uint32_t id, bool *is_invalid, struct buf *headers)
{
	struct order *order = &world->order;
	struct random *random = &order->random;
	struct ordered *message = &order->message[id];
	uint8_t priority = (uint8_t)random_below(random, PRIORITIES);
	uint32_t a = random_below(random, order->keys), b = random_below(random, order->keys);

	if (*is_invalid && random_chance(random, 300)) {
		*is_invalid = false;
		put_bad_key(random, headers);
		return priority;
	}
	if (!random_chance(random, order->keyed_share)) {
		if (order->is_required)
			world->account.message[id].temper = TEMPER_INVALID;
		return priority;
	}
	if (order->has_token && !*is_invalid && random_chance(random, SLICES_IN_1000))
		world->account.message[id].temper = TEMPER_SLICES;
	message->key = (uint8_t)(1 + (a < b ? a : b));
	message->is_high = priority >= PRIORITY_HIGH;
	put_key(random, message->key, headers);
	order_twins_choose(world, id);
	return priority;
}
