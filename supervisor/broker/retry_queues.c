#include "broker/retry_queues.h"

#define CHECK_WAIT MTIME_MINUTE

_Static_assert(RETRY_DELAYS_MAX <= 16, "with the ladder, a bit each in missing_queues.bits");

void missing_queues_add(struct missing_queues *missing, uint32_t bits, mtime now)
{
	if (missing->bits == 0)
		missing->check_after = mtime_after(now, CHECK_WAIT);
	missing->bits |= bits;
}

void missing_queues_forget(struct missing_queues *missing)
{
	*missing = (struct missing_queues){.is_logged = missing->is_logged};
}

void missing_queues_tick(struct missing_queues *missing, mtime now)
{
	if (missing->bits && now >= missing->check_after)
		missing->bits = 0;
}

/* ---------- retry queues ---------- */

static size_t count_of(const struct retry_plan *plan)
{
	return plan->count + retry_ladder_count;
}

static mtime delay_at(const struct retry_plan *plan, size_t i)
{
	return i < plan->count ? plan->delays[i] : retry_ladder[i - plan->count];
}

uint32_t retry_queues_bits(const struct retry_plan *plan, mtime delay)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < count_of(plan); i++)
		if (delay_at(plan, i) == delay)
			bits |= UINT32_C(1) << i;
	return bits;
}

static bool is_nearer(mtime candidate, mtime best, mtime wanted)
{
	if (best == 0)
		return true;
	if ((candidate > wanted) != (best > wanted))
		return candidate > wanted;
	return candidate > wanted ? candidate < best : candidate > best;
}

mtime retry_queues_choose(const struct retry_plan *plan, const struct missing_queues *missing,
	mtime delay, bool must_wait)
{
	mtime best = 0;

	if (delay == 0 || !(retry_queues_bits(plan, delay) & missing->bits))
		return delay;
	for (size_t i = 0; i < count_of(plan); i++) {
		mtime candidate = delay_at(plan, i);
		if (!(missing->bits & UINT32_C(1) << i) && is_nearer(candidate, best, delay))
			best = candidate;
	}
	bool is_held = must_wait || plan->count > 0;
	return best > 0 || !is_held ? best : delay;
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

uint32_t wait_queues_bit(mtime step)
{
	size_t place = place_of(step);

	return place < wait_step_count ? UINT32_C(1) << place : 0;
}

mtime wait_queues_choose(const struct missing_queues *missing, mtime step)
{
	for (size_t i = place_of(step) + 1; i-- > 0;)
		if (!(missing->bits & UINT32_C(1) << i))
			return wait_steps[i];
	return step;
}
