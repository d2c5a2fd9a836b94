#include "runtime/figures/history.h"

#include <assert.h>

static float quantile(const struct histogram *histogram, double part)
{
	return (float)histogram_quantile(histogram, part) / MTIME_SECOND;
}

void history_set_times(struct history_second *figures, const struct histogram *took)
{
	figures->timed = (uint32_t)took->count;
	if (took->count == 0)
		return;
	figures->p50 = quantile(took, 0.5);
	figures->p95 = quantile(took, 0.95);
	figures->p99 = quantile(took, 0.99);
}

/* The buckets are looked at only if there is a new time: most pools are idle most of the time. */
static void measure_times(struct history_mark *mark, const struct histogram *now,
	struct histogram *sum, struct history_second *ret)
{
	struct histogram took = {0};

	if (now->count == mark->timed)
		return;
	histogram_add_since(&took, now, mark->took);
	histogram_add_since(sum, now, mark->took);
	history_set_times(ret, &took);
	mark->timed = now->count;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		mark->took[i] = (uint32_t)now->counts[i];
}

struct history_second history_measure(
	struct history_mark *mark, const struct history_totals *now, struct histogram *sum)
{
	struct history_second figures = {.in = (uint32_t)(now->in - mark->in),
		.done = (uint32_t)(now->done - mark->done),
		.retried = (uint32_t)(now->retried - mark->retried)};

	measure_times(mark, now->took, sum, &figures);
	mark->in = now->in;
	mark->done = now->done;
	mark->retried = now->retried;
	return figures;
}

void history_hand_on(struct history_mark *mark, const struct history_second *figures)
{
	mark->in -= figures->in; /* modulo 2^64 */
	mark->done -= figures->done;
	mark->retried -= figures->retried;
}

static struct history_second *place_of(struct history *history, int64_t second)
{
	return &history->at[second % HISTORY_SECONDS];
}

void history_end_seconds(struct history *history, int64_t now, const struct history_second *figures)
{
	int64_t ended = now - history->open;

	if (history->open == 0)
		history->open = now;
	if (now <= history->open)
		return;
	*place_of(history, history->open) = *figures;
	for (int64_t i = 1; i < ended && i <= HISTORY_SECONDS; i++)
		*place_of(history, history->open + i) = (struct history_second){0};
	history->open = now;
	history->count = ended < HISTORY_SECONDS - history->count ? history->count + (uint32_t)ended
								  : HISTORY_SECONDS;
}

const struct history_second *history_back(const struct history *history, uint32_t back)
{
	assert(back < history->count);
	return &history->at[(history->open - 1 - back) % HISTORY_SECONDS];
}
