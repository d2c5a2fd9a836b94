/* A broken invariant ends the run with its seed and the command that replays it. */
#ifndef SIM_FAIL_H
#define SIM_FAIL_H

#include "base/rc.h"
#include <stdbool.h>

void sim_fail(const char *format, ...) PRINTF_LIKE(1, 2) __attribute__((noreturn));

#define sim_require(condition, ...)                                                                \
	do {                                                                                       \
		if (!(condition))                                                                  \
			sim_fail(__VA_ARGS__);                                                     \
	} while (0)

/* One line of the readable trace, if this run is traced. */
void sim_trace(const char *format, ...) PRINTF_LIKE(1, 2);

#endif
