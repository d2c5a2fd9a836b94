/* The end of a turn: everything that could be read was told. Deadlines are judged here and only
 * here, so that after a suspension of the machine the sockets were read before. */
#include "core/pool_parts.h"

#define RESTING_LIMIT   (60 * MTIME_SECOND)
#define MEMORY_WAIT     (10 * MTIME_MS)
#define STARTS_PER_TURN 4
#define STARTING_MANY   16
#define STARTING_WAIT   (5 * MTIME_MS)
#define NEXT_TURN       1 /* microsecond later, since each turn asks the clock */

static void judge_hard_limits(struct pool *pool)
{
	while (dispatch_deadline(&pool->dispatch, pool->config.hard_limit) <= pool->now)
		pool_slot_overdue(
			pool, dispatch_longest_running(&pool->dispatch), FACT_HARD, "hard limit");
}

static void judge_alarm(struct pool *pool, struct slot *slot)
{
	const char *what = life_overdue_words(slot->state);
	if (what)
		pool_slot_overdue(pool, slot, FACT_ALARM, what);
	else
		pool_slot_fact(pool, slot, FACT_ALARM);
}

/* While many are on their way one more comes now and then: they may be at something that takes
 * long, and does not take a processor. */
static bool may_start(const struct pool *pool, int starts)
{
	if (pool->starting < STARTING_MANY)
		return starts < STARTS_PER_TURN;
	return pool->now - pool->started_at >= STARTING_WAIT;
}

static mtime start_wait(const struct pool *pool)
{
	return pool->starting < STARTING_MANY ? NEXT_TURN : STARTING_WAIT;
}

/* A start takes about a millisecond, and what was just started competes with us for the processors:
 * sixteen a turn made turns of 100 ms on a busy machine. A thousand workers that are due together
 * are started over many turns, so that the broker and the workers there are do not wait for them.
 * Nothing else waits behind them: a task is interrupted in the turn in which it is due, because
 * the next may come behind a suspension, and then its hard limit is over, too. */
static void judge_alarms(struct pool *pool)
{
	int starts = 0;
	while (alarms_deadline(&pool->alarms) <= pool->now) {
		struct slot *slot = alarms_first(&pool->alarms);
		bool is_start = slot->state == LIFE_WAITING;
		if (is_start && pool->phase != POOL_RUNS)
			pool_slot_leave(pool, slot);
		else if (is_start && !may_start(pool, starts++))
			alarms_set(&pool->alarms, slot, pool->now + start_wait(pool));
		else
			judge_alarm(pool, slot);
	}
}

static void tell_source(struct pool *pool, enum notice_kind kind)
{
	pool_tell(pool, (struct notice){.kind = kind, .slot = -1});
}

static uint32_t wanted_window(const struct pool *pool)
{
	uint32_t window = pace_window(&pool->pace);
	return window > pool->source.aside ? window - pool->source.aside : 1;
}

static void consume(struct pool *pool)
{
	source_consume(&pool->source, wanted_window(pool));
	pace_window_set(&pool->pace, pool->now);
	pool->is_lessened = pool->source.aside > 0;
}

/* What came before a rest or a cancel stays in hand, and counts: else a pool whose workers or whose
 * queue come and go would add a window to it each time. */
void pool_begin_consuming(struct pool *pool)
{
	source_set_aside(&pool->source);
	consume(pool);
	if (pool->lacks_workers)
		tell_source(pool, NOTICE_SOURCE_RESUMES);
	pool->has_rested = pool->lacks_workers = false;
}

void pool_rest(struct pool *pool)
{
	source_rest(&pool->source);
	pool->has_rested = true;
	pool->rests_since = pool->now;
}

static void rest_for_want_of_workers(struct pool *pool)
{
	pool_rest(pool);
	pool->lacks_workers = true;
	tell_source(pool, NOTICE_SOURCE_RESTS);
}

/* Nothing is left of what was in hand when consuming began again, nor of a wider window since: it
 * may be whole. Before that the little that takes long does not hold down the rest. */
static bool changes_window(const struct pool *pool)
{
	const struct source *source = &pool->source;
	if (pool->is_lessened && !source->aside && source->open <= source->window)
		return true;
	if (pool->is_scaled_up && wanted_window(pool) > source->window)
		return true;
	return wanted_window(pool) != source->window &&
	       pace_changes_window(
		       &pool->pace, source->window + source->aside, source->open, pool->now);
}

/* A pool that is told to pause and to go on, again and again, while its workers are at something
 * long, does not take one more each time. */
static bool has_room(const struct pool *pool)
{
	return pool->source.open < pace_window(&pool->pace);
}

static bool may_begin_consuming(const struct pool *pool)
{
	return !source_wishes(&pool->source, SOURCE_CONSUME) && pool->ready && !pool->is_paused &&
	       has_room(pool);
}

/* A slot that is not ready is on its way to be, unless its last life came to nothing: while all
 * are, a worker that died in mid-task and starts again does not make the pool rest. */
static void decide_consuming(struct pool *pool)
{
	bool consumes = source_wishes(&pool->source, SOURCE_CONSUME);
	if (consumes && !pool->ready && pool->failing)
		rest_for_want_of_workers(pool);
	else if (consumes && pool->is_rewindowed)
		pool_begin_consuming(pool);
	else if (consumes && changes_window(pool))
		consume(pool);
	else if (may_begin_consuming(pool))
		pool_begin_consuming(pool);
	pool->is_scaled_up = pool->is_rewindowed = false;
}

/* When what is buffered is given back, for want of workers or because of a pause. In a short one it
 * stays: each time that it goes back a broker may count it. */
static mtime stale_deadline(const struct pool *pool)
{
	bool is_at_work = pool->ready && !pool->is_paused;
	if (!pool->has_rested || is_at_work || pool->source.state != SOURCE_IS_RESTED)
		return MTIME_NEVER;
	return pool->dispatch.open.backlog ? pool->rests_since + RESTING_LIMIT : MTIME_NEVER;
}

static enum dispatch_stop dispatch_once(struct pool *pool)
{
	struct delivery *unfit = NULL;
	enum dispatch_stop stop = dispatch_run(&pool->dispatch, pace_depth(&pool->pace),
		pace_pack(&pool->pace), pool->now, &unfit);
	if (unfit) {
		unfit->unfit = REASON_TOO_LARGE;
		pool_finish(pool, unfit, (struct ending){.outcome = OUTCOME_UNFIT});
	}
	return stop;
}

static void dispatch_tasks(struct pool *pool)
{
	enum dispatch_stop stop = DISPATCH_TOO_LARGE;
	if (dispatch_hold_up(&pool->dispatch, pool->absent))
		pace_held_up(&pool->pace);
	while (stop == DISPATCH_TOO_LARGE && pool->outbox.bytes <= pool->config.outbox_limit)
		stop = dispatch_once(pool);
	if (stop == DISPATCH_NO_MEMORY)
		pool->send_again = mtime_after(pool->now, MEMORY_WAIT);
	if (stop == DISPATCH_ENOUGH)
		pool->send_again = mtime_after(pool->now, NEXT_TURN);
	pool_slots_started(pool);
}

static void run(struct pool *pool)
{
	decide_consuming(pool);
	if (stale_deadline(pool) <= pool->now)
		pool_hand_back(pool);
	if (!pool->is_paused)
		dispatch_tasks(pool);
	if (pool_auto(pool))
		judge_alarms(pool);
	source_flush_ripe(&pool->source, pool->dispatch.open.backlog == 0, pool->now);
	/* The last acks may make the room for it, and nothing else need happen after them. */
	if (may_begin_consuming(pool))
		pool_begin_consuming(pool);
}

static bool may_close(const struct pool *pool)
{
	const struct source *source = &pool->source;
	if (pool->phase == POOL_RUNS || source_wishes(source, SOURCE_CLOSE))
		return false;
	return pool->phase == POOL_FORCED || source->state == SOURCE_IS_ABSENT ||
	       (source->state == SOURCE_IS_RESTED && source->open == 0);
}

void pool_on_turn_end(struct pool *pool, const struct event *event)
{
	(void)event;
	pool->send_again = MTIME_NEVER;
	outbox_tick(&pool->outbox, pool->now);
	judge_hard_limits(pool);
	if (pool->phase == POOL_RUNS) {
		pool_roll(pool);
		pool_recycle(pool);
	}
	judge_alarms(pool);
	pace_turn(&pool->pace, (uint32_t)pool->outbox.count, pool->now);
	if (pool->phase == POOL_RUNS)
		run(pool);
	else
		source_flush(&pool->source);
	pool->leaves = 0;
	pool_leave_some(pool);
	if (may_close(pool))
		source_close(&pool->source);
}

/* The channel machine may say that it rests behind the turn in which it was asked to: nothing else
 * need happen after that. */
mtime pool_deadline(const struct pool *pool)
{
	if (may_close(pool) || pool_has_leavers(pool))
		return pool->now;
	mtime deadline = mtime_min(alarms_deadline(&pool->alarms), pool->send_again);
	deadline = mtime_min(deadline, source_deadline(&pool->source));
	deadline = mtime_min(deadline, outbox_deadline(&pool->outbox));
	deadline = mtime_min(deadline, stale_deadline(pool));
	deadline = mtime_min(deadline, pool_auto_deadline(pool));
	deadline = mtime_min(deadline, pool_recycle_deadline(pool));
	return mtime_min(deadline, dispatch_deadline(&pool->dispatch, pool->config.hard_limit));
}
