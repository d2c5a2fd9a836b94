/* A broken invariant ends the process that runs the seed, after it wrote the reason to stderr. */
#ifndef SIM_FAIL_H
#define SIM_FAIL_H

#include "base/mtime.h"
#include "base/rc.h"
#include <stdbool.h>

/* Set by main: this run prints its trace. */
extern bool sim_is_traced;
/* The virtual time, for the trace. */
extern mtime sim_now;

void sim_fail(const char *format, ...) PRINTF_LIKE(1, 2) __attribute__((noreturn));

#define sim_require(condition, ...)                                                                \
	do {                                                                                       \
		if (!(condition))                                                                  \
			sim_fail(__VA_ARGS__);                                                     \
	} while (0)

void sim_trace_line(const char *format, ...) PRINTF_LIKE(1, 2);

/* One line of the readable trace, if this run is traced. */
#define sim_trace(...)                                                                             \
	do {                                                                                       \
		if (sim_is_traced)                                                                 \
			sim_trace_line(__VA_ARGS__);                                               \
	} while (0)

#endif
