/* The event loop: libev's default loop, on epoll. Layer: os. Out of memory, libev ends the
 * process; this loop waits for memory instead. */
#ifndef OS_LOOP_H
#define OS_LOOP_H

#include "base/mtime.h"

#include <ev.h>

/* The same loop at every call; NULL: the kernel refuses what it needs, see errno. */
struct ev_loop *loop_default(void);

/* Call it before the loop runs: our parent may have blocked signals, and exec keeps the mask; then
 * libev would never see SIGTERM or the end of a child. */
void loop_unblock_signals(void);

/* Call this first in every callback of an ev_io. If the kernel refuses to watch a descriptor,
 * libev stops its watchers and reports EV_ERROR once. This starts them again, after one pause of
 * a millisecond in a turn. */
void loop_keep_watching(struct ev_loop *, struct ev_io *, int events);

/* Start the timer, running or not, to fire once after span from now (0 or less: in the next
 * turn). libev itself counts from the start of the turn, so it would fire too early. */
void loop_start_timer(struct ev_loop *, struct ev_timer *, mtime span);

#endif
