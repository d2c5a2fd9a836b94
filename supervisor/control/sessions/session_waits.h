/* The sessions that a command waits for, as a stack of keys and lives. Layer: control. Keys are
 * copied, because a session may end before the command does. */
#ifndef CONTROL_SESSION_WAITS_H
#define CONTROL_SESSION_WAITS_H

#include "base/buf.h"

/* Only the functions below change it. */
struct session_waits {
	struct buf stack; /* owned: keys, each with its life and its length behind it */
};

struct session_wait {
	uint64_t life;
	struct text key; /* borrowed from the stack, until it changes */
};

/* size_max: bytes. */
void session_waits_init(struct session_waits *, size_t size_max);
void session_waits_release(struct session_waits *);
/* False: out of memory or over size_max; nothing has changed. */
bool session_waits_push(struct session_waits *, const struct session_wait *) MUST_CHECK;
/* The latest one; false: there is none. */
bool session_waits_top(const struct session_waits *, struct session_wait *ret);
/* Remove the latest one; there is one. */
void session_waits_pop(struct session_waits *);
void session_waits_clear(struct session_waits *);

#endif
