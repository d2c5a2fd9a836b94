/* The clocks: the loop's monotonic time as mtime, wall time and CPU time. Layer: os. */
#ifndef OS_CLOCK_H
#define OS_CLOCK_H

#include "base/mtime.h"

/* CLOCK_MONOTONIC, without the time that clock_watch has left out. */
mtime clock_now(void);
/* CLOCK_BOOTTIME: counts also while the machine or this process is suspended. Every process of the
 * machine reads the same. */
mtime clock_boot(void);
uint64_t clock_wall_s(void); /* CLOCK_REALTIME, seconds since 1970 */
int64_t clock_wall_ms(void); /* the same in milliseconds, rounded down */
mtime clock_computed(void);  /* CLOCK_THREAD_CPUTIME_ID: CPU time of this thread */

/* Begin a turn of the loop. Return clock_now. */
mtime clock_turn_begins(void);
/* The time after which everything read in this turn arrived, as far as is known. If the loop
 * slept before this turn, it arrived just now. If the loop did not sleep, it arrived at any time
 * since the previous poll. A turn that had to wait for the kernel counts as a sleep: then the
 * time is too late, and tasks seem to take longer than they do. */
mtime clock_arrived_after(void);

/* Start to leave out time in which this process did not run: it was stopped, frozen with its
 * container, or the machine was suspended. From here on clock_now is called at least every
 * CLOCK_TICK, so a much longer gap is such a time. Workers most likely did not run either, and
 * nothing could be read, so no time limit expires because of it. */
#define CLOCK_TICK MTIME_SECOND
void clock_watch(void);
/* How much time was left out so far. */
mtime clock_left_out(void);

#endif
