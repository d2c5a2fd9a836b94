#include "diff/generate_parts.h"

#include "sim/fail.h"

#define STEPS_MAX 40

/* ---------- queues ---------- */

static uint8_t choose_target(struct generator *g)
{
	if (chance(g, 120))
		return KEY_NONE;
	return chance(g, 120) ? KEY_MISSING : (uint8_t)below(g, SCRIPT_QUEUES);
}

static void choose_queue(struct generator *g, struct queue_shape *ret, bool expires)
{
	*ret = (struct queue_shape){.quorum = chance(g, 550),
		.dead_letters = chance(g, 650),
		.dead_exchange = chance(g, 930),
		.target = choose_target(g),
		.ttl_ms = expires && chance(g, 700) ? 10 + (int32_t)below(g, 20) : NUMBER_NONE,
		.limit = NUMBER_NONE,
		.single = chance(g, 350)};
	if (!ret->quorum)
		return;
	ret->at_least_once = ret->dead_letters && chance(g, 400);
	if (chance(g, 500))
		ret->limit = (int32_t)below(g, 4);
	else if (chance(g, 200))
		ret->limit = chance(g, 500) ? -1 : INT32_MAX;
}

/* True: dead letters that arrive there expire before they can be counted. */
static bool drops(const struct queue_shape *shape)
{
	return shape->ttl_ms != NUMBER_NONE &&
	       !(shape->dead_letters && shape->dead_exchange && shape->target < CONSUMABLE);
}

void generate_begin(struct generator *g, struct script *script, uint64_t seed)
{
	*script = (struct script){.seed = seed};
	*g = (struct generator){0};
	random_init(&g->random, seed);
	for (uint8_t i = 0; i < SCRIPT_QUEUES; i++)
		choose_queue(g, &script->queues[i], i >= CONSUMABLE);
	g->orders = chance(g, 350);
	if (g->orders)
		script->queues[0] = (struct queue_shape){.quorum = true,
			.single = chance(g, 700),
			.ttl_ms = NUMBER_NONE,
			.limit = INT32_MAX};
	for (uint8_t i = 0; i < SCRIPT_QUEUES; i++)
		if (script->queues[i].target >= CONSUMABLE &&
			script->queues[i].target < SCRIPT_QUEUES &&
			drops(&script->queues[script->queues[i].target]))
			script->queues[i].target -= CONSUMABLE;
	g->steps = 10 + below(g, STEPS_MAX - 10);
}

/* ---------- what there is ---------- */

struct command *generate_add(struct script *script, enum op op, uint8_t connection, uint8_t channel)
{
	struct command *command = &script->commands[script->count];

	sim_require(script->count < SCRIPT_COMMANDS, "a script of too many commands");
	*command = (struct command){.op = op, .connection = connection, .channel = channel};
	script->count++;
	return command;
}

static unsigned count_consumers(struct client clients[], uint8_t queue)
{
	unsigned count = 0;

	for (int i = 0; i < SCRIPT_CONNECTIONS; i++)
		for (int j = 1; j <= SCRIPT_CHANNELS; j++)
			count += clients[i].channels[j].consumes[queue];
	return count;
}

static bool holds(const struct client_channel *channel, uint8_t queue)
{
	for (size_t i = 0; i < channel->unacked_count; i++)
		if (channel->unacked[i].consumer[1] == '0' + queue)
			return true;
	return false;
}

bool generate_may_lose(const struct script *script, const struct client *client, int only)
{
	int limited = 0;

	for (uint8_t queue = 0; queue < CONSUMABLE; queue++) {
		const struct queue_shape *shape = &script->queues[queue];
		int holders = 0, consumers = 0;

		for (int j = 1; j <= SCRIPT_CHANNELS; j++) {
			holders += (only == 0 || only == j) && holds(&client->channels[j], queue);
			consumers +=
				(only == 0 || only == j) && client->channels[j].consumes[queue];
		}
		if (shape->quorum && holders > 1)
			return false;
		if (shape->single && consumers > 1) /* one could be active after the other */
			return false;
		limited += holders && shape->quorum && shape->dead_letters;
	}
	return limited <= 1;
}

/* ---------- settling ---------- */

static bool is_last_of_its_step(const struct client_channel *channel, size_t i)
{
	return i + 1 == channel->unacked_count ||
	       channel->unacked[i + 1].step != channel->unacked[i].step;
}

static bool is_alone(const struct client_channel *channel, size_t i)
{
	for (size_t j = 0; j <= i; j++)
		if (strcmp(channel->unacked[j].consumer, channel->unacked[i].consumer))
			return false;
	return true;
}

static void settle_one(struct generator *g, struct script *script, const struct client *client,
	uint8_t channel, size_t i)
{
	static const enum op ops[] = {OP_ACK, OP_ACK, OP_NACK, OP_REJECT};
	const struct client_channel *from = &client->channels[channel];
	struct command *c = generate_add(script, ops[below(g, 4)], client->number, channel);

	c->message = from->unacked[i].message;
	c->queue = (uint8_t)(from->unacked[i].consumer[1] - '0');
	c->requeue = c->op != OP_ACK && chance(g, 600);
	if (c->op != OP_REJECT && chance(g, 350))
		c->multiple =
			is_last_of_its_step(from, i) && (c->op == OP_ACK || is_alone(from, i)) &&
			perform_find_unacked((struct client_channel *)from, c->queue, c->message) ==
				&from->unacked[i];
}

/* A step has either acks or others, because acks overtake in a classic queue. It has either
 * requeues or rejections, because a dead letter may return to the same queue later. */
static bool choose_settle(
	struct generator *g, struct script *script, const struct client *client, uint8_t channel)
{
	const struct client_channel *from = &client->channels[channel];
	size_t first, more = below(g, 4);
	bool acks, requeue;

	if (from->unacked_count == 0)
		return false;
	first = below(g, (uint32_t)from->unacked_count);
	settle_one(g, script, client, channel, first);
	if (script->commands[script->count - 1].multiple)
		return true;
	acks = script->commands[script->count - 1].op == OP_ACK;
	requeue = script->commands[script->count - 1].requeue;
	for (size_t i = 0; i < from->unacked_count && more > 0; i++) {
		if (i == first || strcmp(from->unacked[i].consumer, from->unacked[first].consumer))
			continue;
		settle_one(g, script, client, channel, i);
		script->commands[script->count - 1].joined = true;
		script->commands[script->count - 1].multiple = false;
		script->commands[script->count - 1].requeue = requeue;
		if (acks != (script->commands[script->count - 1].op == OP_ACK))
			script->count--;
		more--;
	}
	return true;
}

static bool choose_unknown_tag(
	struct generator *g, struct script *script, const struct client *client, uint8_t channel)
{
	struct command *c;

	if (!generate_may_lose(script, client, channel))
		return false;
	c = generate_add(script, chance(g, 500) ? OP_ACK : OP_NACK, client->number, channel);
	c->unknown = true;
	c->multiple = chance(g, 500);
	return true;
}

/* ---------- consuming ---------- */

static uint8_t choose_consumable(struct generator *g)
{
	return g->orders && chance(g, 700) ? 0 : (uint8_t)below(g, CONSUMABLE);
}

/* A queue has one consumer, and perhaps one that waits: of two, RabbitMQ 4.0 does not always choose
 * the older one. A channel that has messages of a cancelled consumer would go on with that one. */
static bool may_have_consumer(const struct script *script, struct client clients[],
	const struct client_channel *channel, uint8_t queue)
{
	unsigned others = count_consumers(clients, queue);

	if (script->queues[queue].single)
		return others < 2 && !holds(channel, queue);
	return others == 0;
}

static bool choose_consume(
	struct generator *g, struct script *script, struct client clients[], struct command where)
{
	const struct client *client = &clients[where.connection];
	uint8_t queue = choose_consumable(g);
	bool is_consumer = queue < CONSUMABLE && client->channels[where.channel].consumes[queue];
	struct command *c;

	if (chance(g, 150))
		queue = KEY_REPLIES;
	else if (chance(g, 30))
		queue = KEY_MISSING;
	is_consumer = is_consumer && queue < CONSUMABLE;
	if (queue < CONSUMABLE && !is_consumer &&
		!may_have_consumer(script, clients, &client->channels[where.channel], queue))
		return false;
	if (is_consumer && (!chance(g, 100) || !generate_may_lose(script, client, 0)))
		return false;
	if (queue >= CONSUMABLE && !generate_may_lose(script, client, 0))
		return false;
	if (queue < CONSUMABLE && chance(g, 700)) {
		c = generate_add(script, OP_QOS, where.connection, where.channel);
		c->prefetch = (uint16_t)(chance(g, 100) ? 0 : 1 + below(g, 6));
	}
	c = generate_add(script, OP_CONSUME, where.connection, where.channel);
	c->queue = queue;
	c->no_ack = queue == KEY_REPLIES ? chance(g, 900) : chance(g, 100);
	return true;
}

static bool choose_cancel(
	struct generator *g, struct script *script, const struct client *client, uint8_t channel)
{
	uint8_t queue = chance(g, 100) ? KEY_REPLIES : (uint8_t)below(g, CONSUMABLE);

	if (queue < CONSUMABLE && !client->channels[channel].consumes[queue] && !chance(g, 100))
		return false;
	generate_add(script, OP_CANCEL, client->number, channel)->queue = queue;
	return true;
}

/* Acks, barrier, and in the next step the close: as a consumer leaves that keeps the order. */
static bool choose_barrier(
	struct generator *g, struct script *script, const struct client *client, uint8_t channel)
{
	const struct client_channel *from = &client->channels[channel];
	uint8_t queue = choose_consumable(g);
	size_t held = from->unacked_count;
	struct command *c;

	if (!from->consumes[queue] || !script->queues[queue].single ||
		!script->queues[queue].quorum || !generate_may_lose(script, client, channel))
		return false;
	if (held > 0) {
		c = generate_add(script, OP_ACK, client->number, channel);
		c->message = from->unacked[below(g, (uint32_t)held)].message;
		c->queue = queue;
		if (!perform_find_unacked((struct client_channel *)from, c->queue, c->message))
			script->count--;
		else
			held = 0;
	}
	c = generate_add(script, OP_BARRIER, client->number, channel);
	c->queue = queue;
	c->joined = held == 0 && from->unacked_count > 0;
	g->closing = *c;
	return true;
}

static bool close_after_barrier(struct generator *g, struct script *script, struct client clients[])
{
	const struct client *client = &clients[g->closing.connection];
	uint8_t channel = g->closing.channel;

	g->closing.channel = 0;
	if (channel == 0 || !client->open || !client->channels[channel].open)
		return false;
	generate_add(script, OP_CLOSE, client->number, channel);
	return true;
}

/* ---------- the rest ---------- */

/* A queue that is consumed exists: the declare is refused. */
static uint8_t choose_otherwise(struct generator *g, const struct queue_shape *shape, bool exists)
{
	if (exists && chance(g, 400))
		return OTHERWISE_SINGLE;
	if (exists && !shape->quorum && chance(g, 500))
		return OTHERWISE_TYPE;
	if (exists && shape->quorum && chance(g, 500))
		return OTHERWISE_LIMIT;
	return OTHERWISE_TTL;
}

static bool choose_queue_command(struct generator *g, struct script *script,
	struct client clients[], const struct client *client, uint8_t channel)
{
	static const enum op ops[] = {
		OP_DECLARE, OP_DECLARE, OP_PASSIVE, OP_PURGE, OP_DELETE, OP_DECLARE_OTHERWISE};
	enum op op = ops[below(g, sizeof ops / sizeof *ops)];
	struct command *c;

	if (!generate_may_lose(script, client, channel))
		return false;
	c = generate_add(script, op, client->number, channel);
	c->queue = (uint8_t)below(g, SCRIPT_QUEUES);
	if (op != OP_DECLARE_OTHERWISE)
		return true;
	c->queue = choose_consumable(g);
	c->second = choose_otherwise(
		g, &script->queues[c->queue], count_consumers(clients, c->queue) > 0);
	return true;
}

static bool choose_end_of_channel(
	struct generator *g, struct script *script, const struct client *client, uint8_t channel)
{
	bool all = chance(g, 300);

	if (!generate_may_lose(script, client, all ? 0 : channel))
		return false;
	if (all)
		generate_add(script, chance(g, 500) ? OP_KILL : OP_DISCONNECT, client->number, 0);
	else
		generate_add(script, OP_CLOSE, client->number, channel);
	return true;
}

static bool choose_command(
	struct generator *g, struct script *script, struct client clients[], struct command where)
{
	const struct client *client = &clients[where.connection];
	uint32_t what = below(g, 100);

	if (g->orders && chance(g, 200))
		return chance(g, 500) ? choose_barrier(g, script, client, where.channel)
				      : choose_end_of_channel(g, script, client, where.channel);
	if (what < 2)
		return generate_bad_publish(g, script, client, where.channel);
	if (what < 34)
		return generate_publish(g, script, client, where.channel);
	if (what < 66)
		return choose_settle(g, script, client, where.channel);
	if (what < 82)
		return choose_consume(g, script, clients, where);
	if (what < 84)
		return choose_cancel(g, script, client, where.channel);
	if (what < 86)
		return choose_unknown_tag(g, script, client, where.channel);
	if (what < 93)
		return choose_queue_command(g, script, clients, client, where.channel);
	if (what < 96)
		return choose_end_of_channel(g, script, client, where.channel);
	if (client->channels[where.channel].confirms)
		return false;
	generate_add(script, OP_CONFIRM, where.connection, where.channel);
	return true;
}

/* A channel that consumes the queue; otherwise *ret stays the same. */
static void find_consumer(struct client clients[], uint8_t queue, struct command *ret)
{
	for (uint8_t i = 0; i < SCRIPT_CONNECTIONS; i++)
		for (uint8_t j = 1; j <= SCRIPT_CHANNELS; j++)
			if (clients[i].channels[j].consumes[queue])
				*ret = (struct command){.connection = i, .channel = j};
}

static void choose_anything(struct generator *g, struct script *script, struct client clients[])
{
	for (;;) {
		struct command where = {.connection = (uint8_t)below(g, SCRIPT_CONNECTIONS),
			.channel = (uint8_t)(1 + below(g, SCRIPT_CHANNELS))};
		const struct client *client;

		if (g->orders && chance(g, 400))
			find_consumer(clients, 0, &where);
		client = &clients[where.connection];
		if (!client->open)
			generate_add(script, OP_CONNECT, where.connection, 0);
		else if (!client->channels[where.channel].open)
			generate_add(script, OP_OPEN, where.connection, where.channel);
		else if (!choose_command(g, script, clients, where))
			continue;
		return;
	}
}

static void choose_beginning(struct generator *g, struct script *script)
{
	generate_add(script, OP_CONNECT, 0, 0);
	generate_add(script, OP_OPEN, 0, 1);
	for (uint8_t i = 0; i < SCRIPT_QUEUES; i++)
		if (chance(g, 930))
			generate_add(script, OP_DECLARE, 0, 1)->queue = i;
	generate_add(script, OP_CONFIRM, 0, 1);
}

/* Disconnect all clients at the end, so that late events are recorded. */
static bool choose_end(struct script *script, struct client clients[])
{
	for (uint8_t i = 0; i < SCRIPT_CONNECTIONS; i++)
		if (clients[i].open && generate_may_lose(script, &clients[i], 0)) {
			generate_add(script, OP_DISCONNECT, i, 0);
			return true;
		}
	return false;
}

bool generate_step(void *ctx, struct script *script, struct client clients[])
{
	struct generator *g = ctx;

	if (script->count == 0)
		choose_beginning(g, script);
	else if (g->steps == 0 || script->count + 16 > SCRIPT_COMMANDS)
		return choose_end(script, clients);
	else if (!close_after_barrier(g, script, clients))
		choose_anything(g, script, clients);
	g->steps -= g->steps > 0;
	return true;
}
