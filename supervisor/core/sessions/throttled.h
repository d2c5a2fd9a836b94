/* Sessions that wait for a throttle. Layer: core. The next task of such a session was refused: the
 * session is PARKED in a group of throttling, behind others of the same key, until it is its turn;
 * no attempt is counted. It leaves the group when that task is sent, or if something else keeps it
 * from its turn, or if another task becomes the next one, as a message of high priority does. */
#ifndef CORE_SESSIONS_THROTTLED_H
#define CORE_SESSIONS_THROTTLED_H

#include "base/list.h"
#include "base/mtime.h"
#include <stdbool.h>

struct delivery;
struct session;
struct sessions;
struct throttle_group;

/* The task, which is next in its READY session, may not start: append the session to those that
 * wait in the group. */
void sessions_throttle(struct sessions *, struct delivery *, struct throttle_group *,
	struct link *waiting, mtime now);
/* It is its turn to be asked about, or not any more. */
void sessions_set_due(struct sessions *, struct session *, bool is_due, mtime now);
/* It does not wait for a throttle any more. */
void sessions_unthrottle(struct sessions *, struct session *, mtime now);

#endif
