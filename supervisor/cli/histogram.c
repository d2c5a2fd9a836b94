#include "cli/histogram.h"

static const mtime bounds[] = {
#define X(bound, words) bound,
	HISTOGRAM_BOUNDS(X)
#undef X
};

void histogram_add(struct histogram *histogram, mtime span)
{
	size_t i = 0;

	while (i < HISTOGRAM_BOUND_COUNT && span > bounds[i])
		i++;
	histogram->counts[i]++;
	histogram->sum += span;
}

uint64_t histogram_count(const struct histogram *histogram)
{
	uint64_t count = 0;

	for (size_t i = 0; i <= HISTOGRAM_BOUND_COUNT; i++)
		count += histogram->counts[i];
	return count;
}

mtime histogram_quantile(const struct histogram *histogram, double part)
{
	double left = part * (double)histogram_count(histogram);
	mtime low = 0;

	for (size_t i = 0; i < HISTOGRAM_BOUND_COUNT; i++) {
		double here = (double)histogram->counts[i];
		if (here > 0 && left <= here)
			return low + (mtime)((double)(bounds[i] - low) * left / here);
		left -= here;
		low = bounds[i];
	}
	return histogram->counts[HISTOGRAM_BOUND_COUNT] ? low : MTIME_NEVER;
}

mtime histogram_bound(size_t i)
{
	return i < HISTOGRAM_BOUND_COUNT ? bounds[i] : MTIME_NEVER;
}

const char *histogram_bound_words(size_t i)
{
	static const char *const words[] = {
#define X(bound, words) words,
		HISTOGRAM_BOUNDS(X)
#undef X
	};
	return words[i];
}
