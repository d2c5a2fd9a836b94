#include "core/workers/autoscale.h"

#include <string.h>

/* Longer than a few tasks that came together take, and shorter than what a user notices. */
#define MEASURE_TIME (100 * MTIME_MS)
/* A worker is started if the present ones need so long for the tasks that wait. */
#define WORTH_A_START (500 * MTIME_MS)
#define PATIENCE_MIN  MTIME_MINUTE
#define PATIENCE_MAX  (10 * MTIME_MINUTE)
/* Of the surplus, a quarter leaves at a time, rounded up. An eighth of those that were needed is
 * kept as a reserve, since the load varies. */
#define SHRINK_SHARE 4
#define SPARE_SHARE  8
#define HOLD_TIME    (10 * MTIME_SECOND)

static mtime span_of(const struct autoscale *autoscale)
{
	return autoscale->patience / AUTOSCALE_SPANS;
}

static void begin_measure(struct autoscale *autoscale, mtime now)
{
	autoscale->since = now;
	autoscale->worked = 0;
	autoscale->answered = 0;
	autoscale->was_full = false;
}

/* Forget how many were needed before. */
static void forget_peaks(struct autoscale *autoscale, mtime now)
{
	memset(autoscale->peaks, 0, sizeof autoscale->peaks);
	autoscale->span_at = now;
	autoscale->calm = 0;
}

void autoscale_init(struct autoscale *autoscale, uint16_t min, uint16_t max, mtime now)
{
	*autoscale = (struct autoscale){.min = min,
		.max = max,
		.no_idle_since = MTIME_NEVER,
		.patience = PATIENCE_MIN,
		.shrunk_at = INT64_MIN,
		.changed_at = now};
	begin_measure(autoscale, now);
	forget_peaks(autoscale, now);
}

uint32_t autoscale_within(const struct autoscale *autoscale, uint32_t workers)
{
	if (workers < autoscale->min)
		return autoscale->min;
	return workers < autoscale->max ? workers : autoscale->max;
}

void autoscale_worked(struct autoscale *autoscale, mtime from, mtime until)
{
	if (from < autoscale->since)
		from = autoscale->since;
	if (until > from)
		autoscale->worked += until - from;
}

void autoscale_rest(struct autoscale *autoscale, mtime now)
{
	autoscale->no_idle_since = MTIME_NEVER;
	begin_measure(autoscale, now);
	forget_peaks(autoscale, now);
}

bool autoscale_is_due(struct autoscale *autoscale, const struct autoscale_look *look, mtime now)
{
	if (!look->waiting || look->is_any_idle)
		autoscale->no_idle_since = MTIME_NEVER;
	else if (autoscale->no_idle_since == MTIME_NEVER)
		autoscale->no_idle_since = now;
	autoscale->was_full |= look->is_full;
	return now - autoscale->since >= MEASURE_TIME;
}

/* The workers that so many tasks need. */
static uint32_t workers_for(const struct autoscale_look *look, uint32_t tasks)
{
	return (tasks + look->concurrency - 1) / look->concurrency;
}

/* Return how many more workers are needed. Those that are starting count as if they had a task. If
 * workers are faster than the supervisor, they work for a small part of the time only, and more of
 * them would not help. */
static uint32_t missing(
	const struct autoscale *autoscale, const struct autoscale_look *look, mtime span)
{
	uint32_t coming = look->wanted > look->at_work ? look->wanted - look->at_work : 0;
	uint32_t needed = look->suspects + workers_for(look, look->waiting - look->suspects);
	uint32_t missing = needed > coming ? needed - coming : 0;
	if (autoscale->no_idle_since > autoscale->since || !look->may_grow || !look->at_work)
		return 0;
	if (4 * autoscale->worked < 3 * span * look->at_work)
		return 0;
	if (!autoscale->was_full && autoscale->answered &&
		look->waiting * span < autoscale->answered * WORTH_A_START)
		return 0;
	return missing < look->wanted ? missing : look->wanted;
}

/* If the workers of a recent shrinking are wanted back, the next one waits for twice as long. */
static void record_growth(struct autoscale *autoscale, mtime now)
{
	mtime recently = now - 2 * autoscale->patience;
	if (autoscale->shrunk_at >= recently)
		autoscale->patience = mtime_min(2 * autoscale->patience, PATIENCE_MAX);
	else if (autoscale->changed_at < recently)
		autoscale->patience = PATIENCE_MIN;
	autoscale->shrunk_at = INT64_MIN;
	autoscale->changed_at = now;
	forget_peaks(autoscale, now);
}

/* Return how many workers are wanted at the end of a span. */
static uint32_t shrink(struct autoscale *autoscale, uint32_t wanted, mtime now)
{
	uint32_t needed = 0;
	for (int i = 0; i < AUTOSCALE_SPANS; i++)
		if (autoscale->peaks[i] > needed)
			needed = autoscale->peaks[i];
	uint32_t kept =
		autoscale_within(autoscale, needed + (needed + SPARE_SHARE - 1) / SPARE_SHARE);
	if (autoscale->calm + 1 < AUTOSCALE_SPANS || wanted <= kept)
		return wanted;
	autoscale->shrunk_at = autoscale->changed_at = now;
	autoscale->needed = needed;
	return wanted - (wanted - kept + SHRINK_SHARE - 1) / SHRINK_SHARE;
}

uint32_t autoscale_judge(struct autoscale *autoscale, const struct autoscale_look *look, mtime now)
{
	mtime span = now - autoscale->since;
	uint32_t more = now < autoscale->hold_until ? 0 : missing(autoscale, look, span);
	uint32_t wanted = autoscale_within(autoscale, look->wanted + more);
	/* A part of a worker counts as one if it is more than a quarter. */
	uint32_t at_work = (uint32_t)((4 * autoscale->worked + 3 * span - 1) / (4 * span));
	uint32_t needed = workers_for(look, look->places_max);
	if (at_work > needed)
		needed = at_work;
	if (needed > autoscale->peaks[0])
		autoscale->peaks[0] = needed;
	begin_measure(autoscale, now);
	if (wanted > look->wanted) {
		record_growth(autoscale, now);
	} else if (now - autoscale->span_at >= span_of(autoscale)) {
		wanted = look->may_shrink ? shrink(autoscale, wanted, now) : wanted;
		memmove(autoscale->peaks + 1, autoscale->peaks,
			sizeof autoscale->peaks - sizeof *autoscale->peaks);
		autoscale->peaks[0] = 0;
		autoscale->span_at = now;
		autoscale->calm++;
	}
	return wanted;
}

void autoscale_refused(struct autoscale *autoscale, mtime now)
{
	autoscale->hold_until = now + HOLD_TIME;
}

/* A measure in which a worker worked ends in time. If it ended with the next task, which may come
 * much later, a short peak would be averaged over all that time, and count as nothing. */
mtime autoscale_deadline(const struct autoscale *autoscale, uint32_t wanted)
{
	mtime measured = autoscale->since + MEASURE_TIME;
	mtime span_ends = autoscale->span_at + span_of(autoscale);
	if (autoscale->no_idle_since != MTIME_NEVER && wanted < autoscale->max)
		return measured;
	if (wanted <= autoscale->min)
		return MTIME_NEVER;
	if (autoscale->worked)
		return measured;
	return span_ends > measured ? span_ends : measured;
}
