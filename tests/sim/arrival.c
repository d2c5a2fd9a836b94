#include "sim/arrival.h"

#include "amqp/properties.h"
#include "amqp/table.h"
#include "sim/cover.h"
#include "sim/fail.h"
#include "sim/order_later.h"
#include "sim/world.h"

#define BROUGHT_MAX 25

/* Some bring a soft limit of their own; some were renewed before this run began. */
static void choose_headers(struct world *world, struct copy_facts *facts, struct buf *out)
{
	if (!world_wants(world, TROUBLE_HEADERS, 1000))
		return;
	if (random_chance(&world->random, 100)) {
		facts->soft = (1 + random_below(&world->random, 8000)) * MTIME_MS;
		table_put_integer(out, TEXT("TimeoutMilliseconds"), facts->soft / MTIME_MS);
	}
	if (random_chance(&world->random, 50)) {
		facts->renewed = (uint16_t)random_below(&world->random, 11);
		table_put_integer(out, TEXT("x-wpool-renewed"), facts->renewed);
	}
}

/* Some are dead letters of another queue. */
static uint32_t choose_brought(struct world *world)
{
	return world_wants(world, TROUBLE_AGE, 50) ? random_below(&world->random, BROUGHT_MAX) : 0;
}

/* Some begin later, and some could have begun long ago. The time of one that
 * is to be invalid may be what cannot be used. */
static void choose_time(struct world *world, bool *is_invalid, uint32_t id,
	struct copy_facts *facts, struct buf *out)
{
	static const uint32_t spans_s[] = {1, 10, 60, 1800};
	struct random *random = &world->random;
	int64_t span_ms = 1000 * (int64_t)spans_s[random_below(random, 4)];
	int64_t time_ms = world_wall_ms(world->now) + random_below(random, (uint32_t)span_ms);

	if (!world_wants(world, TROUBLE_LATER, 1000))
		return;
	if (*is_invalid && random_chance(random, 500)) {
		*is_invalid = false;
		if (random_chance(random, 500))
			table_put_string(out, TEXT("NotBefore"), TEXT("tomorrow"));
		else
			table_put_integer(out, TEXT("NotBefore"), INT64_C(32503680000000));
		return;
	}
	bool has_key = order_has_key(&world->order, id);
	if (has_key && (!order_later_may(world, id) || *is_invalid ||
			       !world_wants(world, TROUBLE_LATER_KEYED, 1000)))
		return;
	if (!random_chance(random, has_key ? 300 : 100))
		return;
	if (random_chance(random, 200))
		time_ms = 0;
	else
		facts->not_before = (time_ms - WORLD_WALL_MS) * MTIME_MS;
	if (has_key && facts->not_before > world->now)
		order_later_hide(&world->order, id);
	table_put_integer(out, TEXT("NotBefore"), time_ms);
}

static uint64_t store(struct world *world, uint32_t id, bool is_invalid)
{
	uint8_t body[WORLD_BODY_LIMIT + 1] = {id >> 24, id >> 16, id >> 8, id};
	struct copy_facts facts = {0};
	struct properties properties = {0};
	struct buf *headers = &world->headers, *raw = &world->properties;
	uint8_t priority = 0;

	buf_clear(headers);
	buf_clear(raw);
	if (world->order.is_on)
		priority = order_arrive(world, id, &is_invalid, headers);
	if (!order_has_key(&world->order, id))
		choose_headers(world, &facts, headers);
	choose_time(world, &is_invalid, id, &facts, headers);
	throttles_arrive(world, id, headers, &properties);
	if (buf_len(headers))
		properties_set(&properties, PROPERTY_HEADERS, buf_text(headers));
	if (priority)
		properties_set(&properties, PROPERTY_PRIORITY, text_of((char *)&priority, 1));
	properties_write(&properties, raw);
	sim_require(!headers->failed && !raw->failed, "out of memory");
	return broker_store(world->broker, WORLD_QUEUE, &facts,
		order_any_key(&world->order, id) ? 0 : choose_brought(world), buf_text(raw),
		text_of((char *)body, is_invalid ? WORLD_BODY_LIMIT + 1 : 4));
}

/* One of these has connections and channels opened again ten times over: more than half of what is
 * sent would be that. */
static bool costs_links(enum temper temper)
{
	return temper == TEMPER_COSTS_CHANNEL || temper == TEMPER_COSTS_CONNECTION;
}

static enum temper choose_temper(struct world *world)
{
	enum temper temper = random_below(&world->random, TEMPER_COUNT);

	if (random_chance(&world->random, 550) || !settings_has(world->settings, TROUBLE_TEMPERS))
		return TEMPER_DONE;
	cover_mark(COVER_TROUBLE, TROUBLE_TEMPERS, 0);
	if (costs_links(temper) && random_chance(&world->random, 500))
		return TEMPER_REPLY;
	return temper;
}

void arrival_publish(struct world *world)
{
	struct account *account = &world->account;
	uint32_t id = account->messages + 1;
	struct message_account *message;

	if (id > ACCOUNT_MESSAGES_MAX || id - world->order.copies > world->settings->messages)
		return;
	account->messages = id;
	message = &account->message[id];
	message->temper = choose_temper(world);
	sim_trace("message %u is %s", id, temper_names[message->temper]);
	world->order.message[id].instance = store(world, id, message->temper == TEMPER_INVALID);
	if (!world->order.message[id].instance) { /* the queue is gone */
		account->messages--;
		memset(&world->order.message[id], 0, sizeof *world->order.message);
	}
}
