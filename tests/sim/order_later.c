#include "sim/order_later.h"

#include "core/tasks/delivery.h"
#include "sim/fail.h"
#include "sim/link.h"
#include "sim/world.h"

#define LATER_MAX    24  /* in a run */
#define MESSAGES_MAX 300 /* above that, there may be no number for each copy */

/* Of twins none: it would be another message than the other one. */
bool order_later_may(const struct world *world, uint32_t id)
{
	const struct order *order = &world->order;

	return order_has_key(order, id) && !order->message[id].twins && order->later < LATER_MAX &&
	       id < MESSAGES_MAX;
}

void order_later_hide(struct order *order, uint32_t id)
{
	struct ordered *message = &order->message[id];

	message->later_key = message->key;
	message->key = 0;
	order->later++;
	sim_trace("message %u, session %u, may not begin yet", id, message->later_key);
}

/* Where the delivery's copy is a message of its own, the one before has come to this end. */
static uint32_t number_copy(struct world *world, uint32_t id, uint64_t instance)
{
	struct account *account = &world->account;
	struct ordered *message = world->order.message;
	struct throttle_plan *plan = &world->throttles;
	uint32_t new = ++account->messages;

	sim_require(new <= ACCOUNT_MESSAGES_MAX, "a message with a key that never comes");
	world->order.copies++;
	message[new] = (struct ordered){.later_key = message[id].later_key,
		.is_high = message[id].is_high,
		.instance = instance};
	account->message[new] = (struct message_account){.temper = account->message[id].temper};
	account->message[id].forgiven = true;
	plan->tenant[new] = plan->tenant[id];
	plan->type[new] = plan->type[id];
	plan->reply_to[new] = plan->reply_to[id];
	return new;
}

void order_later_stored(
	struct account *account, uint64_t instance, const char *queue, struct text body)
{
	struct world *world = CONTAINER_OF(account, struct world, account);
	uint8_t *bytes = (uint8_t *)(uintptr_t)body.ptr; /* the broker's own copy */
	uint32_t id, new;

	if (strcmp(queue, account->queue) != 0)
		return;
	id = account_id(body);
	/* The first one is the message as it was published. */
	if (!world->order.message[id].later_key || !world->order.message[id].instance)
		return;
	new = number_copy(world, id, instance);
	sim_trace("message %u comes into the queue again, as message %u", id, new);
	for (int i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(new >> (24 - 8 * i));
}

/* The pool had it before its time and lost its channel before the copy was confirmed: it goes on
 * with that, whatever the time is. Only the first one that it has lost can come. */
static bool is_known(const struct pool_runtime *runtime, uint64_t instance)
{
	const struct loose *loose = &runtime->hand.loose;

	for (uint32_t i = 0; i < loose->count; i++)
		if (loose->tasks[i].is_detached)
			return loose->tasks[i].instance == instance;
	return false;
}

/* The pool had made a copy before its time, and the ack was lost: this one and those behind it in
 * its lane come again. */
static void let_lane_repeat(struct ordered *message, uint32_t id)
{
	for (uint32_t other = id; other <= ACCOUNT_MESSAGES_MAX; other++)
		if (message[other].key == message[id].key &&
			message[other].is_high == message[id].is_high)
			message[other].may_repeat = true;
}

void order_later_comes(struct pool_runtime *runtime, const struct delivery *delivery)
{
	struct world *world = runtime->world;
	uint32_t id = account_id(delivery->body);
	struct ordered *message = &world->order.message[id];

	if (!message->later_key || message->key ||
		world->account.facts[message->instance].not_before > world->now ||
		(delivery->redelivered && is_known(runtime, message->instance)))
		return;
	message->key = message->later_key;
	sim_trace("message %u takes its place in session %u", id, message->key);
	if (delivery->redelivered)
		let_lane_repeat(world->order.message, id);
}
