#include "sim/order_loose.h"

#include "core/pool_internal.h"
#include "sim/fail.h"
#include "sim/link.h"
#include "sim/world.h"

enum {
	BIT_MAY_REPEAT = 1, /* something happened that excuses another run */
	BIT_ACKED = 2,      /* by a pool; the broker may not know it yet */
};

static struct loose_facts *facts_of(const struct pool_runtime *runtime)
{
	return &runtime->world->order.loose;
}

static uint8_t *bits_of(const struct pool_runtime *runtime, const struct loose_task *task)
{
	return &facts_of(runtime)->bits[task->instance];
}

struct loose_task *order_loose_find(
	const struct pool_runtime *runtime, const struct delivery *delivery)
{
	const struct loose *loose = &runtime->hand.loose;

	for (uint32_t i = 0; i < loose->count; i++)
		if (loose->tasks[i].delivery == delivery)
			return (struct loose_task *)&loose->tasks[i];
	return NULL;
}

static struct loose_task *find_running(struct pool_runtime *runtime, uint64_t task_id)
{
	struct loose *loose = &runtime->hand.loose;

	for (uint32_t i = 0; i < loose->count; i++)
		if (loose->tasks[i].state == LOOSE_RUNNING && loose->tasks[i].task_id == task_id)
			return &loose->tasks[i];
	return NULL;
}

static void take(struct loose *loose, struct loose_task *task)
{
	loose->count--;
	memmove(task, task + 1, (size_t)(&loose->tasks[loose->count] - task) * sizeof *task);
}

/* Behind all that the channel has delivered. */
static void put(struct loose *loose, struct loose_task task)
{
	uint32_t at = 0;

	sim_require(loose->count < LOOSE_MAX, "a hand over its size");
	while (at < loose->count && !loose->tasks[at].is_detached)
		at++;
	memmove(&loose->tasks[at + 1], &loose->tasks[at],
		(loose->count++ - at) * sizeof *loose->tasks);
	loose->tasks[at] = task;
}

/* ---------- messages come, and come again ---------- */

/* The latest one with this tag: a connection, or its channel, may have had others before. */
static const struct loose_delivery *delivered_as(const struct pool_runtime *runtime, uint64_t tag)
{
	const struct loose_facts *facts = facts_of(runtime);
	const struct broker_connection *peer = pool_link(runtime)->peer;

	for (uint64_t i = 1; i <= facts->deliveries && i <= LOOSE_DELIVERED; i++) {
		const struct loose_delivery *one =
			&facts->delivered[(facts->deliveries - i) % LOOSE_DELIVERED];

		if (one->tag == tag && one->connection == peer)
			return one;
	}
	sim_fail("delivery %llu was never sent", (unsigned long long)tag);
}

void order_loose_comes(struct pool_runtime *runtime, const struct delivery *delivery)
{
	const struct loose_delivery *delivered = delivered_as(runtime, delivery->tag);
	struct loose_task *stale = order_loose_find(runtime, delivery);

	if (!source_accepts(&runtime->pool->tasks.source, delivery->tag))
		return;
	/* A forced stop frees what is detached before the workers that have it are gone. */
	sim_require(
		!stale || pool_is_forced(&runtime->pool->context), "a delivery in hand is freed");
	if (stale)
		take(&runtime->hand.loose, stale);
	put(&runtime->hand.loose, (struct loose_task){.delivery = delivery,
					  .instance = delivered->instance,
					  .requeues = delivered->requeues,
					  .tag = delivery->tag});
}

/* Its worker has it by the instance that it has now. */
static void update_worker(struct pool_runtime *runtime, const struct loose_task *task)
{
	for (uint16_t i = 0; i < SLOTS_MAX; i++) {
		struct worker *worker = &runtime->workers.worker[i];
		struct worker_task *open = workers_find(worker, task->task_id);

		if (!open || task->state != LOOSE_RUNNING)
			continue;
		open->instance = task->instance;
		open->requeues = task->requeues;
	}
}

/* Two copies of a message that are equal: the pool cannot tell them apart, and need not. */
static void exchange(struct pool_runtime *runtime, uint64_t a, uint64_t b)
{
	struct loose *loose = &runtime->hand.loose;

	facts_of(runtime)->bits[a] |= BIT_MAY_REPEAT;
	facts_of(runtime)->bits[b] |= BIT_MAY_REPEAT;
	runtime->world->account.may_ack[a] = runtime->world->account.may_ack[b] = true;
	for (uint32_t i = 0; i < loose->count; i++) {
		struct loose_task *task = &loose->tasks[i];

		if (task->instance != a && task->instance != b)
			continue;
		task->instance = task->instance == a ? b : a;
		task->requeues = runtime->world->account.requeues[task->instance];
		update_worker(runtime, task);
	}
}

static bool is_at_broker(const struct pool_runtime *runtime, uint64_t tag)
{
	const struct client_link *link = pool_link(runtime);

	return link->peer && broker_instance_of(link->peer, runtime->channel, tag);
}

void order_loose_same(
	struct pool_runtime *runtime, const struct delivery *known, const struct delivery *delivery)
{
	struct account *account = &runtime->world->account;
	struct loose_task *old = order_loose_find(runtime, known),
			  *new = order_loose_find(runtime, delivery), task;

	if (!old || !new)
		return;
	if (old->state == LOOSE_WAITING) {
		new->is_suspect = old->is_suspect;
		take(&runtime->hand.loose, old);
		return;
	}
	if (old->instance != new->instance)
		exchange(runtime, old->instance, new->instance);
	task = *old;
	task.tag = new->tag;
	task.requeues = new->requeues;
	task.is_detached = false;
	task.was_attached = true;
	take(&runtime->hand.loose, old);
	take(&runtime->hand.loose, order_loose_find(runtime, delivery));
	put(&runtime->hand.loose, task);
	update_worker(runtime, &task);
	sim_trace("copy %llu is attached again", (unsigned long long)task.instance);
	if (task.state == LOOSE_ENDED && is_at_broker(runtime, task.tag))
		account_ended(account, task.instance, account->requeues[task.instance],
			runtime->supervisor->number);
}

void order_loose_detach(struct pool_runtime *runtime)
{
	struct loose *loose = &runtime->hand.loose;

	for (uint32_t i = loose->count; i-- > 0;) {
		struct loose_task *task = &loose->tasks[i];

		task->is_detached = true;
		if (task->state == LOOSE_WAITING && !task->is_suspect)
			take(loose, task);
	}
}

void order_loose_give_up(struct pool_runtime *runtime, bool may_repeat)
{
	struct loose *loose = &runtime->hand.loose;

	while (loose->count && loose->tasks[loose->count - 1].is_detached)
		if (may_repeat)
			*bits_of(runtime, &loose->tasks[--loose->count]) |= BIT_MAY_REPEAT;
		else
			loose->count--;
}

void order_loose_check_closing(const struct pool_runtime *runtime)
{
	const struct loose *loose = &runtime->hand.loose;

	for (uint32_t i = 0; i < loose->count; i++)
		sim_require(loose->tasks[i].state != LOOSE_ENDED,
			"copy %llu has ended, and goes back in a stop",
			(unsigned long long)loose->tasks[i].instance);
}

void order_loose_lose(struct pool_runtime *runtime)
{
	struct loose *loose = &runtime->hand.loose;

	for (uint32_t i = 0; i < loose->count; i++)
		*bits_of(runtime, &loose->tasks[i]) |= BIT_MAY_REPEAT;
	for (uint16_t i = 0; i < SLOTS_MAX; i++)
		for (uint32_t k = 0; k < runtime->workers.worker[i].count; k++)
			runtime->workers.worker[i].tasks[k].is_lost = true;
	memset(loose->is_done, 0, sizeof loose->is_done);
}

void order_loose_begin(struct pool_runtime *runtime)
{
	struct loose *loose = &runtime->hand.loose;

	loose->count = 0;
	memset(loose->is_done, 0, sizeof loose->is_done);
}

void order_loose_end(struct pool_runtime *runtime)
{
	struct loose *loose = &runtime->hand.loose;

	while (loose->count)
		*bits_of(runtime, &loose->tasks[--loose->count]) |= BIT_MAY_REPEAT;
}

/* ---------- runs ---------- */

/* In no other worker of the pool. */
static void check_alone(const struct pool_runtime *runtime, const struct worker_task *task)
{
	for (uint16_t i = 0; i < SLOTS_MAX; i++) {
		const struct worker *worker = &runtime->workers.worker[i];

		for (uint32_t k = 0; k < worker->count; k++)
			sim_require(worker->tasks[k].instance != task->instance ||
					    worker->tasks[k].is_lost,
				"message %u, copy %llu, runs twice at once", task->id,
				(unsigned long long)task->instance);
	}
}

void order_loose_sent(
	struct pool_runtime *runtime, struct worker_task *task, const struct delivery *delivery)
{
	struct loose_task *loose = order_loose_find(runtime, delivery);
	uint8_t *bits;

	sim_require(loose && loose->state == LOOSE_WAITING && !loose->is_detached,
		"message %u is begun, and is not one that waits", task->id);
	bits = bits_of(runtime, loose);
	if (!facts_of(runtime)->is_any_gone && !(*bits & BIT_MAY_REPEAT)) {
		check_alone(runtime, task);
		sim_require(!runtime->hand.loose.is_done[loose->instance],
			"message %u, copy %llu, has ended and runs again, for no reason", task->id,
			(unsigned long long)loose->instance);
	}
	*bits = 0;
	runtime->hand.loose.is_done[loose->instance] = false;
	task->requeues = loose->requeues;
	loose->state = LOOSE_RUNNING;
	loose->task_id = task->task_id;
}

static void end(struct pool_runtime *runtime, struct loose_task *loose)
{
	loose->state = LOOSE_ENDED;
	runtime->hand.loose.is_done[loose->instance] = true;
}

void order_loose_answered(struct pool_runtime *runtime, const struct worker_task *task)
{
	struct loose_task *loose = find_running(runtime, task->task_id);

	if (loose)
		end(runtime, loose);
}

/* Its attempt counts if the pool has said so. */
void order_loose_gone(struct pool_runtime *runtime, const struct worker_task *task, bool is_suspect)
{
	struct loose_task *loose = find_running(runtime, task->task_id);

	if (!loose)
		return;
	loose->state = LOOSE_WAITING;
	loose->is_suspect |= is_suspect;
	if (loose->is_detached && !loose->is_suspect)
		take(&runtime->hand.loose, loose);
}

void order_loose_told(struct pool_runtime *runtime, const struct notice *notice)
{
	struct loose_task *loose = order_loose_find(runtime, notice->delivery);

	if (!loose)
		return;
	sim_require(notice->kind != NOTICE_TASK_ORPHANED || facts_of(runtime)->is_any_gone,
		"copy %llu is in hand, and is dropped", (unsigned long long)loose->instance);
	if (notice->kind == NOTICE_TASK_RETRIED || notice->kind == NOTICE_TASK_GIVEN_UP ||
		notice->kind == NOTICE_TASK_RENEWED || notice->kind == NOTICE_TASK_POSTPONED ||
		notice->kind == NOTICE_TASK_POSTPONED_BY_WORKER ||
		notice->kind == NOTICE_TASK_NOT_DUE)
		end(runtime, loose);
}

void order_loose_refused(struct pool_runtime *runtime, const struct delivery *delivery)
{
	struct loose_task *loose = order_loose_find(runtime, delivery);

	if (loose)
		end(runtime, loose);
}

/* ---------- acks ---------- */

static void settle(struct pool_runtime *runtime, struct loose_task *loose)
{
	bool is_delivered = is_at_broker(runtime, loose->tag);

	sim_require(loose->state == LOOSE_ENDED, "copy %llu is acked in state %d",
		(unsigned long long)loose->instance, loose->state);
	*bits_of(runtime, loose) |= is_delivered ? BIT_ACKED : BIT_MAY_REPEAT;
	take(&runtime->hand.loose, loose);
}

void order_loose_acked(struct pool_runtime *runtime, uint64_t tag, bool multiple)
{
	struct loose *loose = &runtime->hand.loose;

	for (uint32_t i = loose->count; i-- > 0;) {
		struct loose_task *task = &loose->tasks[i];

		if (!task->is_detached && (task->tag == tag || (multiple && task->tag < tag)))
			settle(runtime, task);
	}
}

void order_loose_requeued(struct loose_facts *facts, uint64_t instance)
{
	if (facts->bits[instance] & BIT_ACKED)
		facts->bits[instance] |= BIT_MAY_REPEAT;
	facts->bits[instance] &= (uint8_t)~BIT_ACKED;
}
