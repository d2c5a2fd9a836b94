/* The deadline of a wait. Every wait of the harness is for an event; the deadline only ends a
 * test whose event never comes. */
#ifndef HARNESS_DEADLINE_H
#define HARNESS_DEADLINE_H

#include <stdint.h>
#include <time.h>

#define DEADLINE_DEFAULT_MS 60000

static inline int64_t deadline_now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static inline int64_t deadline_in(int timeout_ms)
{
	return deadline_now_ms() + timeout_ms;
}

/* Milliseconds left, at least 0; suitable for poll. */
static inline int deadline_left(int64_t deadline)
{
	int64_t left = deadline - deadline_now_ms();
	return left > 0 ? (int)left : 0;
}

#endif
