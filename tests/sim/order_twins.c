#include "sim/order_twins.h"

#include "core/pool_internal.h"
#include "sim/fail.h"

#define TWINS_IN_1000 800

#define SWAP(a, b)                                                                                 \
	do {                                                                                       \
		__typeof__(a) swapped = (a);                                                       \
		(a) = (b);                                                                         \
		(b) = swapped;                                                                     \
	} while (0)

static uint32_t latest_of_lane(const struct order *order, uint32_t id)
{
	const struct ordered *message = &order->message[id];

	for (uint32_t before = id; --before > 0;)
		if (order->message[before].key == message->key &&
			order->message[before].is_high == message->is_high)
			return before;
	return 0;
}

/* What is wrong with a message is in its body, which the arrival chooses. */
static bool has_own_body(enum temper temper)
{
	return temper == TEMPER_INVALID || temper == TEMPER_TOO_LARGE;
}

void order_twins_choose(struct world *world, uint32_t id)
{
	struct order *order = &world->order;
	struct message_account *account = world->account.message;
	uint32_t before = latest_of_lane(order, id);

	if (!order->has_twins || !before || !random_chance(&order->random, TWINS_IN_1000) ||
		has_own_body(account[id].temper) || has_own_body(account[before].temper))
		return;
	if (!order->message[before].twins)
		order->message[before].twins = before;
	order->message[id].twins = order->message[before].twins;
	account[id].temper = account[before].temper;
	sim_trace("message %u equals message %u", id, before);
}

bool order_twins_are(const struct order *order, uint32_t a, uint32_t b)
{
	return order->message[a].twins && order->message[a].twins == order->message[b].twins;
}

static uint32_t twin_of(uint32_t id, uint32_t a, uint32_t b)
{
	return id == a ? b : id == b ? a : id;
}

/* ---------- what a pool and its workers have of them ---------- */

static void exchange_held(struct hand *hand, uint32_t a, uint32_t b)
{
	SWAP(hand->held[a], hand->held[b]);
	for (uint32_t i = 0; i < hand->count; i++)
		hand->ids[i] = twin_of(hand->ids[i], a, b);
}

/* Not a task whose delivery the pool has given up. */
static void exchange_task(
	struct pool_runtime *runtime, struct worker_task *task, uint32_t a, uint32_t b)
{
	uint32_t id = twin_of(task->id, a, b);

	if (id == task->id || runtime->hand.held[id].life != task->life)
		return;
	task->id = id;
	task->instance = runtime->world->order.message[id].instance;
}

static void exchange_tasks(struct pool_runtime *runtime, uint32_t a, uint32_t b)
{
	for (uint16_t i = 0; i < SLOTS_MAX; i++) {
		struct worker *worker = &runtime->workers.worker[i];

		for (uint32_t k = 0; k < worker->count; k++)
			exchange_task(runtime, &worker->tasks[k], a, b);
		for (uint32_t k = 0; k < worker->unheard_count; k++)
			exchange_task(runtime, &worker->unheard[k], a, b);
	}
}

/* The body of a delivery is its message's id, in the delivery's own memory. */
static void exchange_delivery(const struct delivery *delivery, uint32_t a, uint32_t b)
{
	uint32_t id = twin_of(account_id(delivery->body), a, b);
	uint8_t *body = (uint8_t *)(uintptr_t)delivery->body.ptr;

	for (int i = 0; i < 4; i++)
		body[i] = (uint8_t)(id >> (24 - 8 * i));
}

static void exchange_deliveries(struct pool_runtime *runtime, uint32_t a, uint32_t b)
{
	const struct ordered *message = &runtime->world->order.message[a];
	struct session *session =
		sessions_find(runtime->pool->tasks.sessions, order_key(message->key));
	const struct link *open;

	sim_require(session, "message %u is detached, and its session is gone", a);
	open = &session->lanes[message->is_high ? LANE_HIGH : LANE_NORMAL].open;
	for (const struct link *link = open->next; link != open; link = link->next)
		exchange_delivery(CONTAINER_OF(link, struct delivery, in_lane), a, b);
}

/* ---------- what became of them ---------- */

/* Which of both was done, and of which one a reply is on its way, is the same to everybody. */
static void exchange_facts(struct world *world, uint32_t a, uint32_t b)
{
	struct ordered *one = &world->order.message[a], *other = &world->order.message[b];
	struct account *account = &world->account;

	SWAP(one->has_passed, other->has_passed);
	SWAP(one->is_done, other->is_done);
	SWAP(one->is_disposed, other->is_disposed);
	SWAP(one->may_repeat, other->may_repeat);
	SWAP(account->message[a].failures, account->message[b].failures);
	account->may_ack[one->instance] = account->may_ack[other->instance] = true;
	account->message[a].forgiven = account->message[b].forgiven = true;
	account->message[a].excused = account->message[b].excused = true;
}

void order_twins_exchange(struct pool_runtime *runtime, uint32_t a, uint32_t b)
{
	sim_trace("message %u comes for message %u", b, a);
	exchange_held(&runtime->hand, a, b);
	exchange_tasks(runtime, a, b);
	exchange_deliveries(runtime, a, b);
	exchange_facts(runtime->world, a, b);
}
