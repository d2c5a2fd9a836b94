/* The rolling restart. One worker more than wanted is started; when more than wanted are ready, one
 * of the old ones leaves, and its place is the next new one's. So the pool never has fewer ready
 * because of it, and never more than one process too many. */
#include "core/pool_parts.h"

/* New workers that come to nothing in a row end it: their command is at fault. */
#define FAILURES_MAX 3

void pool_roll_begin(struct pool *pool)
{
	pool->generation++;
	pool->recycle.spares = 0; /* each is replaced anyhow */
	pool_dismiss_surplus(pool);
	pool->roll = (struct roll){.is_on = true, .wants_look = true, .leaver = pool->roll.leaver};
	pool_tell(pool,
		(struct notice){.kind = NOTICE_ROLL_BEGINS, .slot = -1, .number = pool->wanted});
	/* Perhaps this is what those needed that failed before. */
	for (uint32_t i = 0; i < pool->slots.count; i++) {
		struct slot *slot = pool_slot(pool, i);
		if (slot->state == LIFE_WAITING)
			alarms_set(&pool->alarms, slot, pool->now);
	}
}

static bool is_new(const struct pool *pool, const struct slot *slot)
{
	return slot->generation == pool->generation;
}

void pool_roll_failed(struct pool *pool, const struct slot *slot)
{
	if (!is_new(pool, slot))
		return;
	if (slot->ready_at == MTIME_NEVER)
		pool->roll.stillborn++;
	else
		pool->roll.useless++;
}

void pool_roll_ready(struct pool *pool, const struct slot *slot)
{
	if (is_new(pool, slot))
		pool->roll.stillborn = 0;
}

void pool_roll_answered(struct pool *pool, const struct slot *slot)
{
	if (is_new(pool, slot))
		pool->roll.useless = 0;
}

struct survey {
	uint32_t ready;   /* that are kept */
	uint32_t leaving; /* not gone yet */
	struct slot *old; /* of those that are kept the one that is missed least; NULL: none */
};

/* One on its way out is followed by a new one anyhow. */
static bool is_old_worker(const struct pool *pool, const struct slot *slot)
{
	return !is_new(pool, slot) && (slot->state == LIFE_STARTING || slot->state == LIFE_READY);
}

static void look_at(struct survey *survey, const struct pool *pool, struct slot *slot)
{
	if (slot->is_leaving) {
		survey->leaving += slot->state != LIFE_RETIRED;
		return;
	}
	survey->ready += slot->state == LIFE_READY;
	if (is_old_worker(pool, slot) &&
		(!survey->old ||
			pool_slot_weight(pool, slot) < pool_slot_weight(pool, survey->old)))
		survey->old = slot;
}

/* The one that was to go for a new one that is no good stays, if it is still at work. */
static void stop(struct pool *pool, const char *what)
{
	struct slot *leaver = pool->roll.leaver;
	pool->roll.is_on = false;
	if (leaver && leaver->is_leaving && leaver->state == LIFE_READY)
		pool_keep(pool, leaver);
	pool_dismiss_surplus(pool);
	pool_tell(pool, (struct notice){.kind = NOTICE_ROLL_STOPS, .slot = -1, .what = what});
}

static void end(struct pool *pool)
{
	pool->roll.is_on = false;
	pool_tell(pool, (struct notice){.kind = NOTICE_ROLL_ENDS, .slot = -1});
}

static const char *trouble_of(const struct roll *roll)
{
	if (roll->stillborn >= FAILURES_MAX)
		return "three new workers in a row did not become ready";
	if (roll->useless >= FAILURES_MAX)
		return "three new workers in a row ended before they answered anything";
	return NULL;
}

static void replace(struct pool *pool, const struct survey *survey)
{
	if (survey->ready > pool->wanted) {
		pool->roll.leaver = survey->old;
		pool_dismiss(pool, survey->old);
	} else if (pool->kept == pool->wanted && !pool_keep_more(pool, 1, 0)) {
		stop(pool, "there is no memory for one worker more");
	}
}

static void step(struct pool *pool)
{
	struct survey survey = {0};
	const char *trouble = trouble_of(&pool->roll);
	for (uint32_t i = 0; i < pool->slots.count; i++)
		look_at(&survey, pool, pool_slot(pool, i));
	if (trouble)
		stop(pool, trouble);
	else if (survey.leaving)
		return;
	else if (survey.old)
		replace(pool, &survey);
	else if (pool->kept > pool->wanted) /* the last old one has died meanwhile */
		pool_dismiss_surplus(pool);
	else if (survey.ready == pool->wanted)
		end(pool);
}

/* Each step that changes a slot wants another look. */
void pool_roll(struct pool *pool)
{
	while (pool->roll.is_on && pool->roll.wants_look) {
		pool->roll.wants_look = false;
		step(pool);
	}
}
