#include "broker/waits.h"

#define WAIT_LOOKING MTIME_MINUTE

_Static_assert(RETRY_DELAYS_MAX <= 16, "with the ladder, a bit each in waits.missing");

void waits_init(struct waits *waits, const struct retry_plan *plan)
{
	*waits = (struct waits){.plan = plan};
}

void waits_forget(struct waits *waits)
{
	waits->has_no_right = false;
	waits->missing = 0;
}

static size_t count_of(const struct waits *waits)
{
	return waits->plan->count + retry_ladder_count;
}

static mtime delay_at(const struct waits *waits, size_t i)
{
	return i < waits->plan->count ? waits->plan->delays[i]
				      : retry_ladder[i - waits->plan->count];
}

/* A delay may be both in the plan and on the ladder. */
static uint32_t bits_of(const struct waits *waits, mtime delay)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < count_of(waits); i++)
		if (delay_at(waits, i) == delay)
			bits |= UINT32_C(1) << i;
	return bits;
}

bool waits_has(const struct waits *waits, mtime delay)
{
	return bits_of(waits, delay) != 0;
}

bool waits_may_make(const struct waits *waits)
{
	return !waits->has_no_right;
}

void waits_refuse(struct waits *waits, mtime delay, mtime now)
{
	waits->has_no_right = true;
	waits_miss(waits, delay, now);
}

void waits_miss(struct waits *waits, mtime delay, mtime now)
{
	if (waits->missing == 0)
		waits->look_again = mtime_after(now, WAIT_LOOKING);
	waits->missing |= bits_of(waits, delay);
}

static bool is_nearer(mtime candidate, mtime best, mtime wanted)
{
	if (best == 0)
		return true;
	if ((candidate > wanted) != (best > wanted))
		return candidate > wanted;
	return candidate > wanted ? candidate < best : candidate > best;
}

mtime waits_choose(const struct waits *waits, mtime delay)
{
	mtime best = 0;

	if (delay == 0 || !(bits_of(waits, delay) & waits->missing))
		return delay;
	for (size_t i = 0; i < count_of(waits); i++) {
		mtime candidate = delay_at(waits, i);
		if (!(waits->missing & UINT32_C(1) << i) && is_nearer(candidate, best, delay))
			best = candidate;
	}
	return best > 0 || waits->plan->count == 0 ? best : delay;
}

void waits_tick(struct waits *waits, mtime now)
{
	if (waits->missing && now >= waits->look_again)
		waits->missing = 0;
}
