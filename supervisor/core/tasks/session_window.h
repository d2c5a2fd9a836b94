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
	bool is_narrowing; /* the channel is left for a smaller one, and nothing came since */
	mtime narrow_at;   /* not before */
};

void session_window_init(struct tasks *);
/* Another prefetch may be configured. */
void session_window_configured(struct tasks *);
/* The pool is the active one; window: that the token names. */
void session_window_held(struct tasks *, uint32_t window);
/* True: leave the channel now, to consume with a smaller window. */
bool session_window_begins_to_narrow(struct tasks *);
/* A message came on a channel that is being left. */
void session_window_delivered_late(struct tasks *);
/* The channel is gone; is_clean: see SOURCE_DOWN. */
void session_window_source_down(struct tasks *, bool is_clean);
/* When to ask session_window_begins_to_narrow again. */
mtime session_window_deadline(const struct tasks *);

#endif
