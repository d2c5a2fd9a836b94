#include "broker/retry_queues.h"

#define CHECK_WAIT MTIME_MINUTE

_Static_assert(RETRY_DELAYS_MAX <= 16, "with the ladder, a bit each in waits.missing");

void retry_queues_init(struct retry_queues *retry_queues, const struct retry_plan *plan)
{
	*retry_queues = (struct retry_queues){.plan = plan};
}

void retry_queues_forget(struct retry_queues *retry_queues)
{
	retry_queues->has_no_right = false;
	retry_queues->missing = 0;
}

static size_t count_of(const struct retry_queues *retry_queues)
{
	return retry_queues->plan->count + retry_ladder_count;
}

static mtime delay_at(const struct retry_queues *retry_queues, size_t i)
{
	return i < retry_queues->plan->count ? retry_queues->plan->delays[i]
					     : retry_ladder[i - retry_queues->plan->count];
}

/* A delay may be both in the plan and on the ladder. */
static uint32_t bits_of(const struct retry_queues *retry_queues, mtime delay)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < count_of(retry_queues); i++)
		if (delay_at(retry_queues, i) == delay)
			bits |= UINT32_C(1) << i;
	return bits;
}

bool retry_queues_has(const struct retry_queues *retry_queues, mtime delay)
{
	return bits_of(retry_queues, delay) != 0;
}

bool retry_queues_may_make(const struct retry_queues *retry_queues)
{
	return !retry_queues->has_no_right;
}

void retry_queues_refuse(struct retry_queues *retry_queues, mtime delay, mtime now)
{
	retry_queues->has_no_right = true;
	retry_queues_miss(retry_queues, delay, now);
}

void retry_queues_miss(struct retry_queues *retry_queues, mtime delay, mtime now)
{
	if (retry_queues->missing == 0)
		retry_queues->check_after = mtime_after(now, CHECK_WAIT);
	retry_queues->missing |= bits_of(retry_queues, delay);
}

static bool is_nearer(mtime candidate, mtime best, mtime wanted)
{
	if (best == 0)
		return true;
	if ((candidate > wanted) != (best > wanted))
		return candidate > wanted;
	return candidate > wanted ? candidate < best : candidate > best;
}

mtime retry_queues_choose(const struct retry_queues *retry_queues, mtime delay, bool must_wait)
{
	mtime best = 0;

	if (delay == 0 || !(bits_of(retry_queues, delay) & retry_queues->missing))
		return delay;
	for (size_t i = 0; i < count_of(retry_queues); i++) {
		mtime candidate = delay_at(retry_queues, i);
		if (!(retry_queues->missing & UINT32_C(1) << i) &&
			is_nearer(candidate, best, delay))
			best = candidate;
	}
	bool is_held = must_wait || retry_queues->plan->count > 0;
	return best > 0 || !is_held ? best : delay;
}

void retry_queues_tick(struct retry_queues *retry_queues, mtime now)
{
	if (retry_queues->missing && now >= retry_queues->check_after)
		retry_queues->missing = 0;
}

/* ---------- wait queues ---------- */

/* The place of a step in wait_steps, or wait_step_count. */
static size_t place_of(mtime step)
{
	size_t i = 0;

	while (i < wait_step_count && wait_steps[i] != step)
		i++;
	return i;
}

bool wait_queues_has(mtime step)
{
	return place_of(step) < wait_step_count;
}

uint32_t wait_queues_bit(mtime step)
{
	return UINT32_C(1) << place_of(step);
}

void wait_queues_refuse(struct wait_queues *wait_queues, mtime step, mtime now)
{
	wait_queues->has_no_right = true;
	wait_queues_miss(wait_queues, step, now);
}

void wait_queues_miss(struct wait_queues *wait_queues, mtime step, mtime now)
{
	if (wait_queues->missing == 0)
		wait_queues->check_after = mtime_after(now, CHECK_WAIT);
	wait_queues->missing |= wait_queues_bit(step);
}

mtime wait_queues_choose(const struct wait_queues *wait_queues, mtime step)
{
	for (size_t i = place_of(step) + 1; i-- > 0;)
		if (!(wait_queues->missing & UINT32_C(1) << i))
			return wait_steps[i];
	return step;
}

void wait_queues_tick(struct wait_queues *wait_queues, mtime now)
{
	if (wait_queues->missing && now >= wait_queues->check_after)
		wait_queues->missing = 0;
}
