/* Times of calls, each kept, so that a percentile is one of them and not an estimate. */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero is a legal start. spans: owned; the time of its begin while a call is open, negated. */
struct latency {
	int64_t *spans;
	size_t begun, ended, room;
};

/* A call that was due then; its number. Ends the program when there is no memory. */
size_t latency_begin(struct latency *, int64_t due_ns);
/* False for a number that is not open. */
bool latency_end(struct latency *, size_t number, int64_t now_ns);
size_t latency_open(const struct latency *);
void latency_release(struct latency *);

/* One line of JSON on stdout: how many, how fast, percentiles in microseconds. All must be ended;
 * their order is lost. */
void latency_print(struct latency *, double seconds);

#endif
