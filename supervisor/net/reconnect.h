/* Which host to try next, and when. Layer: net, pure. Each host is tried once without a wait, then
 * all wait. The wait doubles with each failure, and starts over after a connection that was open
 * for longer. A refused login waits longer, because only a person can fix it and some brokers count
 * attempts. After a broker has started, its users wait for at most the longest ordinary wait. With
 * 5 s, three hundred supervisors connect about 70 times a second in all, at random times, and a log
 * gets a line every 5 s while the broker is away. */
#ifndef NET_RECONNECT_H
#define NET_RECONNECT_H

#include "base/backoff.h"
#include <stdbool.h>
#include <stddef.h>

#define RECONNECT_FIRST     (500 * MTIME_MS)
#define RECONNECT_MAX       (5 * MTIME_SECOND)
#define RECONNECT_LOGIN     (5 * MTIME_SECOND)
#define RECONNECT_LOGIN_MAX (60 * MTIME_SECOND)

struct reconnect {
	size_t host_count;
	size_t host;  /* to try now */
	size_t tried; /* since the last wait */
	bool was_refused;
	struct backoff wait, login_wait;
};

/* max: the longest ordinary wait; where it is shorter than RECONNECT_MAX, a refused login waits no
 * longer than twice that. seed: any number. */
void reconnect_init(struct reconnect *, size_t host_count, mtime max, uint32_t seed);
/* A login was accepted. */
void reconnect_opened(struct reconnect *);
/* The host failed after it was open for that long (0: never). Move to the next host and return
 * how long to wait before trying it. */
mtime reconnect_failed(struct reconnect *, bool login_refused, mtime open_for);

#endif
