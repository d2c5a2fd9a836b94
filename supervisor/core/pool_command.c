/* What operators ask for: to pause, to scale, to restart, to leave. */
#include "core/pool_parts.h"

#include <assert.h>

static void drain(struct pool *pool)
{
	pool->phase = POOL_DRAINS;
	if (source_wishes(&pool->source, SOURCE_CONSUME))
		source_rest(&pool->source);
	else if (pool->source.state == SOURCE_IS_RESTED)
		pool_hand_back(pool);
	pool->passed = 0;
	pool_leave_some(pool);
}

/* It was begun, and may have had a part of its effect; an orphan comes again by itself. */
static void give_back_begun(struct pool *pool, const struct slot *slot, struct delivery *head)
{
	if (!head->source) {
		delivery_free(head);
		return;
	}
	pool_tell(pool, (struct notice){.kind = NOTICE_TASK_CUT_SHORT,
				.slot = slot->number,
				.life = slot->life,
				.delivery = head,
				.duration = pool->now - slot->since});
	source_reject(head, REJECT_REQUEUE);
}

static void cut_short(struct pool *pool, struct slot *slot)
{
	struct delivery *head = dispatch_slot_gone(&pool->dispatch, slot);
	slot->deaf = true;
	slot->asked = true;
	pool_slot_fact(pool, slot, FACT_FORCE);
	if (head)
		give_back_begun(pool, slot, head);
}

static void force(struct pool *pool)
{
	pool->was_forced = !pool_is_quiet(pool);
	pool->phase = POOL_FORCED;
	for (uint32_t i = 0; i < pool->slots.count; i++)
		cut_short(pool, pool_slot(pool, i));
	pool_hand_back(pool);
}

static void tell(struct pool *pool, enum notice_kind kind, const char *what)
{
	pool_tell(pool, (struct notice){.kind = kind, .slot = -1, .what = what});
}

static void pause(struct pool *pool)
{
	if (pool->is_paused)
		return;
	pool->is_paused = true;
	if (source_wishes(&pool->source, SOURCE_CONSUME))
		pool_rest(pool);
	tell(pool, NOTICE_PAUSED, NULL);
}

/* The turn decides when it consumes again. */
static void resume(struct pool *pool)
{
	if (pool->is_paused)
		tell(pool, NOTICE_RESUMED, NULL);
	pool->is_paused = false;
}

static bool is_range(uint32_t least, uint32_t most)
{
	return least >= 1 && least <= most && most <= POOL_WORKERS_MAX;
}

/* A number is what an operator wants, whatever the pool would choose: it holds until there is
 * another word. */
static void scale(struct pool *pool, uint32_t least, uint32_t most)
{
	struct autoscale autoscale;
	if (!is_range(least, most)) {
		tell(pool, NOTICE_COMMAND_REFUSED, "a pool has 1 to 10000 workers");
		return;
	}
	autoscale_init(&autoscale, (uint16_t)least, (uint16_t)most, pool->now);
	if (!pool_scale(pool, autoscale_within(&autoscale, pool->wanted))) {
		tell(pool, NOTICE_COMMAND_REFUSED, "there is no memory for so many workers");
		return;
	}
	pool->autoscale = autoscale;
	pool_tell_scaling(pool, NOTICE_SCALED, (struct scaling){.cause = SCALING_ASKED});
}

/* Those who have begun something (a start, a grace) finish it by the limit that it began with; how
 * long a task may run is asked in each turn. */
static void configure(struct pool *pool, const struct pool_config *config)
{
	assert(config->interrupt == pool->config.interrupt);
	pool->is_rewindowed |= config->prefetch != pool->config.prefetch;
	pool->config = *config;
	pace_configure(&pool->pace, config);
	dispatch_set_pipe_wait(&pool->dispatch, pace_pipe_wait(&pool->pace));
	pool_recycle_configure(pool);
}

static void steer(struct pool *pool, const struct event *event)
{
	enum command what = event->command.what;
	uint32_t least = event->command.number, most = event->command.most;
	if (pool->phase != POOL_RUNS)
		tell(pool, NOTICE_COMMAND_REFUSED, "the pool is stopping");
	else if (what == COMMAND_SCALE)
		scale(pool, least, most ? most : least);
	else if (what == COMMAND_CONFIGURE)
		configure(pool, event->command.config);
	else if (what == COMMAND_RESTART)
		pool_roll_begin(pool);
	else if (what == COMMAND_PAUSE)
		pause(pool);
	else
		resume(pool);
}

void pool_on_command(struct pool *pool, const struct event *event)
{
	enum command what = event->command.what;
	if (what > COMMAND_FORCE)
		steer(pool, event);
	else if (what == COMMAND_DRAIN && pool->phase == POOL_RUNS)
		drain(pool);
	else if (what == COMMAND_FORCE && pool->phase != POOL_FORCED)
		force(pool);
}
