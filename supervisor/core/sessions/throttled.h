/* Sessions that wait for a throttle. Layer: core. The next task of such a session was refused: the
 * session is PARKED until its time has come, without an attempt. If another task becomes the next
 * one, as a message of high priority does, that one is asked about at once. */
#ifndef CORE_SESSIONS_THROTTLED_H
#define CORE_SESSIONS_THROTTLED_H

#include "base/mtime.h"

struct delivery;
struct sessions;

/* The task, which is next in its READY session, may not start before this time. */
void sessions_throttle(struct sessions *, struct delivery *, mtime until, mtime now);
/* None of them waits for its throttle any more. */
void sessions_unthrottle_all(struct sessions *, mtime now);

#endif
