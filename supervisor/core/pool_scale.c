/* Decides who leaves, and whose place is filled again. */
#include "core/pool_parts.h"

#define LEAVES_PER_TURN 64

static void init_slot(struct pool *pool, uint16_t number)
{
	struct slot *slot = pool_slot(pool, number);
	slot->number = number;
	slot->life = 1;
	slot->ready_at = MTIME_NEVER;
	slot->ended_at = MTIME_NEVER;
	slot->alarm = MTIME_NEVER;
	slot->old_at = MTIME_NEVER;
	slot->state = LIFE_RETIRED;
	slot->is_leaving = true;
	list_init(&slot->answered);
	dispatch_add_slot(slot);
	pool->retired++;
}

static enum rc add_slots(struct pool *pool, uint32_t count)
{
	uint32_t before = pool->slots.count;
	if (alarms_grow(&pool->alarms, (uint16_t)count) != RC_OK ||
		shelf_grow(&pool->slots, count) != RC_OK)
		return RC_MEMORY;
	for (uint32_t number = before; number < count; number++)
		init_slot(pool, (uint16_t)number);
	return RC_OK;
}

static bool make_room(struct pool *pool, uint32_t count)
{
	if (count <= pool->slots.count)
		return true;
	return pool->effects->room(pool->io, (uint16_t)count) && add_slots(pool, count) == RC_OK;
}

void pool_keep(struct pool *pool, struct slot *slot)
{
	dispatch_slot_keep(&pool->dispatch, slot);
	pool->kept++;
	if (slot->state == LIFE_RETIRED)
		pool_slot_fact(pool, slot, FACT_WANTED);
	else if (slot->load == 0 && pool_recycle_is_spent(slot)) /* of no use as it is */
		pool_recycle_leave(pool, slot);
}

static void keep_those(struct pool *pool, uint32_t count, bool (*is_meant)(const struct slot *))
{
	for (uint32_t i = 0; i < pool->slots.count && pool->kept < count; i++) {
		struct slot *slot = pool_slot(pool, i);
		if (slot->is_leaving && is_meant(slot))
			pool_keep(pool, slot);
	}
}

static bool is_at_work(const struct slot *slot)
{
	return slot->state == LIFE_READY && !slot->due;
}

static bool is_retired(const struct slot *slot)
{
	return slot->state == LIFE_RETIRED;
}

/* Its next life is started when this one is over. */
static bool is_any(const struct slot *slot)
{
	(void)slot;
	return true;
}

/* There is room for them. */
static void keep_as_many(struct pool *pool, uint32_t count)
{
	keep_those(pool, count, is_at_work);
	keep_those(pool, count, is_retired);
	keep_those(pool, count, is_any);
}

enum rc pool_slots_init(struct pool *pool)
{
	shelf_init(&pool->slots, sizeof(struct slot));
	if (add_slots(pool, pool->config.workers) != RC_OK)
		return RC_MEMORY;
	pool->wanted = pool->config.workers;
	keep_as_many(pool, pool->wanted);
	return RC_OK;
}

bool pool_keep_more(struct pool *pool, uint32_t more, uint32_t leaving)
{
	if (!make_room(pool, pool->kept + leaving + more))
		return false;
	keep_as_many(pool, pool->kept + more);
	return true;
}

/* A thousand processes that wake up to end, all at once, would keep the processors from the rest.
 */
void pool_let_go(struct pool *pool, struct slot *slot)
{
	bool is_woken = slot->state == LIFE_READY;
	if (is_woken && pool->leaves >= LEAVES_PER_TURN) {
		if (pool->passed > slot->number)
			pool->passed = slot->number;
		return;
	}
	pool->leaves += is_woken;
	pool_slot_leave(pool, slot);
}

static bool is_to_leave(const struct pool *pool, const struct slot *slot)
{
	bool is_idle = slot->load == 0;
	return pool->phase == POOL_DRAINS
		       ? is_idle
		       : is_idle && slot->is_leaving && slot->state == LIFE_READY;
}

void pool_leave_some(struct pool *pool)
{
	for (; pool_has_leavers(pool) && pool->leaves < LEAVES_PER_TURN; pool->passed++) {
		struct slot *slot = pool_slot(pool, pool->passed);
		if (is_to_leave(pool, slot))
			pool_let_go(pool, slot);
	}
}

bool pool_has_leavers(const struct pool *pool)
{
	return pool->phase != POOL_FORCED && pool->passed < pool->slots.count;
}

/* One that is on its way out already is let go on it. */
void pool_dismiss(struct pool *pool, struct slot *slot)
{
	bool is_on_its_way = slot->state != LIFE_WAITING && slot->state != LIFE_STARTING &&
			     slot->state != LIFE_READY;
	dispatch_slot_dismiss(&pool->dispatch, slot);
	pool->kept--;
	if (slot->load == 0 && !is_on_its_way)
		pool_let_go(pool, slot);
}

/* Those that are no workers yet, or no more; then those with the fewest tasks. Of equals those of
 * before the last restart, and those that are to be replaced. */
uint32_t pool_slot_weight(const struct pool *pool, const struct slot *slot)
{
	uint32_t weight = slot->state == LIFE_READY ? 2u + slot->load : slot->state != LIFE_WAITING;
	return 2 * weight + (slot->generation == pool->generation && !slot->due);
}

static bool has_surplus(const struct pool *pool)
{
	return pool->kept > pool->wanted + pool->recycle.spares;
}

/* Of those that weigh the same the last goes first, so that numbers stay low. */
static void dismiss_those(struct pool *pool, uint32_t weight)
{
	for (uint32_t i = pool->slots.count; i-- > 0 && has_surplus(pool);) {
		struct slot *slot = pool_slot(pool, i);
		if (!slot->is_leaving && pool_slot_weight(pool, slot) == weight)
			pool_dismiss(pool, slot);
	}
}

/* A walk for each weight, and not one for each that leaves: of ten thousand workers most may. */
void pool_dismiss_surplus(struct pool *pool)
{
	for (uint32_t weight = 0; has_surplus(pool); weight++)
		dismiss_those(pool, weight);
}

void pool_want(struct pool *pool, uint32_t workers)
{
	pool->is_scaled_up |= workers > pool->wanted;
	pool->scaling.before = pool->wanted;
	pool->wanted = (uint16_t)workers;
	pool->recycle.spares = 0;
	pace_scaled(&pool->pace, pool->wanted);
	pool_dismiss_surplus(pool);
	keep_as_many(pool, workers);
	pool->roll.wants_look = pool->recycle.wants_look = true;
}

bool pool_scale(struct pool *pool, uint32_t workers)
{
	if (!make_room(pool, workers))
		return false;
	pool_want(pool, workers);
	return true;
}

void pool_tell_scaling(struct pool *pool, enum notice_kind kind, struct scaling scaling)
{
	scaling.at = pool->now;
	scaling.before = pool->scaling.before;
	scaling.after = pool->wanted;
	scaling.least = pool->autoscale.least;
	scaling.most = pool->autoscale.most;
	pool->scaling = scaling;
	pool_tell(pool, (struct notice){.kind = kind,
				.slot = -1,
				.number = pool->wanted,
				.scaling = &pool->scaling});
}
