#include "bench/latency.h"

#include "bench/link.h"

#include <stdio.h>
#include <stdlib.h>

#define FIRST_CAPACITY 4096
#define NS_A_US        1000.0

static const double percentiles[] = {
	1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 99.5, 99.8, 99.9, 100};

size_t latency_begin(struct latency *latency, int64_t due_ns)
{
	if (latency->begun == latency->capacity) {
		latency->capacity = latency->capacity ? 2 * latency->capacity : FIRST_CAPACITY;
		latency->spans =
			reallocarray(latency->spans, latency->capacity, sizeof *latency->spans);
		if (!latency->spans)
			link_fail("times", "out of memory");
	}
	latency->spans[latency->begun] = -due_ns;
	return latency->begun++;
}

bool latency_end(struct latency *latency, size_t number, int64_t now_ns)
{
	if (number >= latency->begun || latency->spans[number] >= 0)
		return false;
	latency->spans[number] += now_ns;
	latency->ended++;
	return true;
}

size_t latency_open(const struct latency *latency)
{
	return latency->begun - latency->ended;
}

void latency_release(struct latency *latency)
{
	free(latency->spans);
	*latency = (struct latency){0};
}

static int compare(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
	return (a > b) - (a < b);
}

/* The shortest time that this percentage of the calls did not exceed. */
static double percentile(const struct latency *latency, double percent)
{
	size_t rank = (size_t)(percent / 100 * (double)latency->ended + 0.999999);
	if (latency->ended == 0)
		return 0;
	return (double)latency->spans[rank > 0 ? rank - 1 : 0] / NS_A_US;
}

void latency_print(struct latency *latency, double seconds)
{
	if (latency->ended)
		qsort(latency->spans, latency->ended, sizeof *latency->spans, compare);
	printf("{\"calls\": %zu, \"rate\": %.1f, \"us\": {", latency->ended,
		seconds > 0 ? (double)latency->ended / seconds : 0);
	for (size_t i = 0; i < sizeof percentiles / sizeof *percentiles; i++)
		printf("%s\"%g\": %.1f", i ? ", " : "", percentiles[i],
			percentile(latency, percentiles[i]));
	printf("}}\n");
}
