#include "runtime/figures/histogram.h"

enum { IN_DECADE = HISTOGRAM_END - HISTOGRAM_FIRST };

/* The bucket of a time. It includes its upper bound, as Prometheus' buckets do. */
static size_t bucket_of(mtime span)
{
	uint64_t value = span > 0 ? (uint64_t)span - 1 : 0;
	size_t base = 0;

	while (value >= HISTOGRAM_END) {
		value /= 10;
		base += IN_DECADE;
	}
	return base + value < HISTOGRAM_BUCKETS ? base + value : HISTOGRAM_BUCKETS - 1;
}

void histogram_add(struct histogram *histogram, mtime span)
{
	histogram->counts[bucket_of(span)]++;
	if (!histogram->count || span < histogram->min)
		histogram->min = span;
	if (!histogram->count || span > histogram->max)
		histogram->max = span;
	histogram->count++;
	histogram->sum += span;
}

mtime histogram_bucket_bound(size_t i)
{
	mtime width = 1;

	for (; i >= HISTOGRAM_END; i -= IN_DECADE)
		width *= 10;
	return ((mtime)i + 1) * width;
}

mtime histogram_bucket_start(size_t i)
{
	return i ? histogram_bucket_bound(i - 1) : 0;
}

void histogram_add_since(struct histogram *histogram, const struct histogram *now,
	const uint32_t before[HISTOGRAM_BUCKETS])
{
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint32_t grown = (uint32_t)now->counts[i] - before[i];
		mtime low = mtime_max(histogram_bucket_start(i), now->min);
		mtime high = i == HISTOGRAM_BUCKETS - 1
				     ? now->max
				     : mtime_min(histogram_bucket_bound(i), now->max);
		if (grown == 0)
			continue;
		if (!histogram->count || low < histogram->min)
			histogram->min = low;
		histogram->max = mtime_max(histogram->max, high);
		histogram->counts[i] += grown;
		histogram->count += grown;
	}
}

static mtime clamp(const struct histogram *histogram, mtime span)
{
	return mtime_max(histogram->min, mtime_min(histogram->max, span));
}

mtime histogram_quantile(const struct histogram *histogram, double part)
{
	double left = part * (double)histogram->count;

	if (!histogram->count)
		return MTIME_NEVER;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		double here = (double)histogram->counts[i];
		if (here > 0 && left <= here) {
			mtime low = histogram_bucket_start(i);
			mtime high = i == HISTOGRAM_BUCKETS - 1 ? histogram->max
								: histogram_bucket_bound(i);
			return clamp(histogram, low + (mtime)((double)(high - low) * left / here));
		}
		left -= here;
	}
	return histogram->max;
}

static const mtime bounds[] = {
#define X(bound, label) bound,
	HISTOGRAM_BOUNDS(X)
#undef X
};

uint64_t histogram_count_to(const struct histogram *histogram, size_t i)
{
	size_t last = bucket_of(bounds[i]);
	uint64_t count = 0;

	for (size_t bucket = 0; bucket <= last; bucket++)
		count += histogram->counts[bucket];
	return count;
}

const char *histogram_bound_label(size_t i)
{
	static const char *const labels[] = {
#define X(bound, label) label,
		HISTOGRAM_BOUNDS(X)
#undef X
	};
	return labels[i];
}
