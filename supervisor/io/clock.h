/* The clocks: the loop's monotonic time as mtime, and two for special ends. Layer: io. */
#ifndef IO_CLOCK_H
#define IO_CLOCK_H

#include "base/mtime.h"

mtime clock_now(void);       /* CLOCK_MONOTONIC */
uint64_t clock_wall_s(void); /* CLOCK_REALTIME, seconds since 1970 */
mtime clock_computed(void);  /* CLOCK_THREAD_CPUTIME_ID: how long this thread has been running */

#endif
