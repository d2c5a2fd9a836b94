/* The times of all calls, so that a percentile is one of them and not an estimate. */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins as zeros. spans: owned; while a call is open, its begin, negated. */
struct latency {
	int64_t *spans;
	size_t begun, ended, capacity;
};

/* Begin a call that was due at due_ns. Return its number. Out of memory: end the program. */
size_t latency_begin(struct latency *, int64_t due_ns);
/* False: no call with this number is open. */
bool latency_end(struct latency *, size_t number, int64_t now_ns);
size_t latency_open(const struct latency *);
void latency_release(struct latency *);

/* Print one line of JSON: number of calls, rate, percentiles in microseconds. All calls must have
 * ended. Sorts them. */
void latency_print(struct latency *, double seconds);

#endif
