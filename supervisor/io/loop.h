/* The event loop: libev's default one, on epoll. Layer: io.
 * libev ends the process when it gets no memory; this one waits for memory instead. */
#ifndef IO_LOOP_H
#define IO_LOOP_H

#include "base/mtime.h"

#include <ev.h>

/* The same loop at every call; NULL: the kernel refuses what it needs (errno tells). */
struct ev_loop *loop_default(void);

/* The first thing in every callback of an ev_io. Where the kernel refuses to watch a descriptor,
 * libev stops its watchers and tells them by EV_ERROR, once: this starts them again, after a pause
 * of a millisecond, one for all that a turn tells of. */
void loop_keep_watching(struct ev_loop *, struct ev_io *, int events);

/* The timer, running or not, goes off once, after span (0 or less: in the next turn) from now on:
 * libev itself counts from the turn's begin, and goes off too early by what the turn has taken. */
void loop_start_timer(struct ev_loop *, struct ev_timer *, mtime span);

#endif
