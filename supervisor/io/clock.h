/* The one clock: the loop's monotonic time as mtime. Layer: io. */
#ifndef IO_CLOCK_H
#define IO_CLOCK_H

#include "base/mtime.h"

mtime clock_now(void);       /* CLOCK_MONOTONIC */
uint64_t clock_wall_s(void); /* CLOCK_REALTIME, seconds since 1970 */

#endif
