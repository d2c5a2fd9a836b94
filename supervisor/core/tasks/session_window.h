/* The window of a pool with sessions. Layer: core. Part of struct tasks; decides nothing but how
 * many messages the broker may hand over, and what of it the token names. */
#ifndef CORE_TASKS_SESSION_WINDOW_H
#define CORE_TASKS_SESSION_WINDOW_H

#include "base/mtime.h"
#include <stdbool.h>
#include <stdint.h>

struct tasks;

struct session_window {
	uint32_t used;     /* to consume with; the token names it, or a larger one */
	bool is_narrowing; /* the channel is renewed for a smaller one */
	mtime narrow_at;   /* not before */
};

void session_window_init(struct tasks *);
/* Another prefetch may be configured. */
void session_window_configured(struct tasks *);
/* The pool is the active one; window: that the token names. */
void session_window_held(struct tasks *, uint32_t window);
/* When to renew the channel, which consumes, for another window; MTIME_NEVER: not now. */
mtime session_window_at(const struct tasks *);
/* The channel is left for another window. */
void session_window_left(struct tasks *);
/* The window to consume with. */
uint32_t session_window_wanted(const struct tasks *);
/* The pool consumes with this window; 0: with the one that it asked for. */
void session_window_up(struct tasks *, uint32_t window);

#endif
