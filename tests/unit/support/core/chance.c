#include "unit/support/core/chance.h"

bool dice(long of)
{
	return random() % of == 0;
}

void chance_tell(struct world *world, struct event event)
{
	pool_step(world->pool, world->now, &event);
	pool_audit(world->pool);
}

void chance_allow_ack(struct world *world, uint64_t tag, uint32_t epoch)
{
	if (!world->source_is_up || epoch != world->source_epoch)
		return;
	CHECK(world, world->fates[tag] == OPEN);
	world->fates[tag] = MAY_ACK;
}

static enum send_result on_send(
	void *io, uint16_t slot, struct delivery *delivery, uint16_t attempt)
{
	struct world *world = io;
	struct worker *worker = &world->workers[slot];
	bool is_alone = delivery->redelivered && delivery->renewed >= 3;
	CHECK(world, attempt == delivery->attempt + 1 && !world->is_paused);
	CHECK(world, worker->lives && worker->is_ready && !worker->is_leaving);
	CHECK(world, worker->count < DEPTH && world->fates[delivery->tag] == OPEN);
	CHECK(world, delivery->returns < 10);
	for (int i = 0; i < SLOTS; i++)
		CHECK(world,
			world->workers[i].count == 0 || (!world->workers[i].is_alone && !is_alone));
	if (dice(50))
		return dice(2) ? SEND_TOO_LARGE : SEND_NO_MEMORY;
	worker->is_alone = is_alone;
	worker->is_interrupted = false;
	worker->tags[worker->count] = delivery->tag;
	worker->epochs[worker->count++] = world->source_epoch;
	return SEND_OK;
}

static void on_ack(void *io, uint64_t tag, bool multiple)
{
	struct world *world = io;
	CHECK(world, world->source_is_up && !world->closes);
	CHECK(world, tag > 0 && world->fates[tag] == MAY_ACK);
	for (uint64_t lower = multiple ? 1 : tag; lower <= tag; lower++) {
		CHECK(world, world->fates[lower] != OPEN);
		world->fates[lower] = SETTLED;
	}
}

static void on_reject(void *io, uint64_t tag, enum reject how)
{
	struct world *world = io;
	CHECK(world, world->source_is_up && !world->closes);
	CHECK(world, world->fates[tag] == OPEN);
	CHECK(world, how == REJECT_REQUEUE || world->config.policy.dead_letter_by_broker);
	world->fates[tag] = SETTLED;
}

static void on_publish(void *io, const struct parcel *parcel)
{
	struct world *world = io;
	CHECK(world, world->outbox_is_up && parcel->seq.number == world->last_seq + 1);
	CHECK(world, world->fates[parcel->delivery->tag] == OPEN);
	CHECK(world, parcel->kind == PARCEL_RETRY || parcel->delay == 0);
	CHECK(world, parcel->kind != PARCEL_RENEW || parcel->delivery->returns >= 10);
	world->numbers[++world->last_seq] = (struct number){.tag = parcel->delivery->tag,
		.epoch = world->source_epoch,
		.kind = parcel->kind,
		.is_open = true};
}

static void on_source(void *io, enum source_request request, uint32_t window)
{
	struct world *world = io;
	CHECK(world, !(world->closes && request != SOURCE_CLOSE));
	CHECK(world, request != SOURCE_CONSUME || (window > 0 && !world->is_paused));
	world->consumes = request == SOURCE_CONSUME;
	world->rests = request == SOURCE_REST;
	world->closes = request == SOURCE_CLOSE;
}

static void on_slot(void *io, uint16_t slot, uint32_t life, enum slot_request request)
{
	struct world *world = io;
	struct worker *worker = &world->workers[slot];
	CHECK(world, worker->lives == (request != SLOT_SPAWN));
	CHECK(world, request == SLOT_SPAWN ? life == worker->life + 1 : life == worker->life);
	CHECK(world, request != SLOT_QUIT || worker->count == 0);
	if (request == SLOT_SPAWN)
		*worker = (struct worker){.lives = true, .life = life};
	else
		worker->is_leaving = true;
}

static bool on_ask(
	void *io, uint16_t slot, uint32_t life, enum task_request request, uint64_t task_id)
{
	struct world *world = io;
	struct worker *worker = &world->workers[slot];
	(void)task_id;
	CHECK(world, life == worker->life && worker->count > 0 && !worker->is_leaving);
	if (request == TASK_CANCEL) /* by an operator */
		return true;
	CHECK(world, world->config.on_soft == SOFT_CONTEXT_SWITCH && worker->count == 1 &&
			     !worker->is_interrupted);
	worker->is_interrupted = true;
	return true;
}

/* No pool here has sessions. */
static bool on_is_same(void *io, const struct delivery *before, const struct delivery *after)
{
	(void)io;
	(void)before;
	(void)after;
	return false;
}

static bool on_allow_slots(void *io, uint16_t slots)
{
	(void)io;
	return slots <= SLOTS;
}

static mtime on_waited(void *io, uint16_t slot, uint32_t life)
{
	const struct world *world = io;
	CHECK(world, world->workers[slot].lives && world->workers[slot].life == life);
	return random() % (2 * MTIME_SECOND);
}

/* No message here has a time. */
static int64_t on_wall_ms(void *io)
{
	(void)io;
	return 0;
}

static void on_tell(void *io, const struct notice *notice)
{
	(void)io;
	(void)notice;
}

const struct effects chance_effects = {on_send, on_ack, on_reject, on_publish, on_source, on_slot,
	on_ask, on_is_same, on_allow_slots, on_waited, on_wall_ms, on_tell, NULL, NULL, NULL, NULL};
