/* The clocks: the loop's monotonic time as mtime, and two for special ends. Layer: io. */
#ifndef IO_CLOCK_H
#define IO_CLOCK_H

#include "base/mtime.h"

/* CLOCK_MONOTONIC, without the time that clock_watch left out. */
mtime clock_now(void);
uint64_t clock_wall_s(void); /* CLOCK_REALTIME, seconds since 1970 */
mtime clock_computed(void);  /* CLOCK_THREAD_CPUTIME_ID: how long this thread has been running */

/* The loop has something to do. Returns clock_now. */
mtime clock_turn_begins(void);
/* What is read in this turn had not come by then, as far as is known. While the loop finds
 * something whenever it looks, nobody knows for how long that lay there since the look before; once
 * it has slept, it just came. A turn that itself had to wait for the kernel counts as a sleep: then
 * it is too late a time, and tasks seem to take longer than they do. */
mtime clock_absent(void);

/* From here on somebody calls clock_now every CLOCK_TICK at the latest, so a much longer gap is
 * time in which this process did not run: stopped, frozen with its container, the machine
 * suspended. Its workers were most likely held up, too, and nothing could be read: clock_now leaves
 * that time out, and no limit of anybody is over for it. */
#define CLOCK_TICK MTIME_SECOND
void clock_watch(void);
/* How much was left out so far. */
mtime clock_left_out(void);

#endif
