/* When to try which host again. Layer: io; a decision without I/O: time and chance are arguments.
 * Every host gets one try without a wait, then there is one wait for all: it doubles from failure
 * to failure, and falls back to its first length after a connection that outlived it. A refused
 * login waits longer, because only a person can mend it, and some brokers count the tries.
 *
 * The longest ordinary wait is what a broker's return may cost its users on top of its start. With
 * 5 s, three hundred supervisors knock 120 times a second in all, spread by the jitter, and a log
 * gets a line every 5 s while the broker is away. */
#ifndef IO_RECONNECT_H
#define IO_RECONNECT_H

#include "base/mtime.h"
#include <stdbool.h>
#include <stddef.h>

#define RECONNECT_FIRST      (500 * MTIME_MS)
#define RECONNECT_MOST       (5 * MTIME_SECOND)
#define RECONNECT_LOGIN      (5 * MTIME_SECOND)
#define RECONNECT_LOGIN_MOST (60 * MTIME_SECOND)

struct reconnect {
	size_t host_count;
	size_t host;  /* to be tried now */
	size_t tried; /* since the last wait */
	bool was_refused;
	mtime most, login_most;
	mtime wait, login_wait; /* the latest; 0: none yet */
	uint64_t chance;        /* state of the jitter, never 0 */
};

/* most: the longest ordinary wait; where it is shorter than RECONNECT_MOST, a refused login waits
 * no longer than twice that. seed: any number. */
void reconnect_init(struct reconnect *, size_t host_count, mtime most, uint64_t seed);
/* A login was taken. */
void reconnect_opened(struct reconnect *);
/* The host failed, after it was open for that long (0: never). Moves host on and returns how long
 * to wait before it is tried: 0, or a wait with a jitter of a quarter. */
mtime reconnect_failed(struct reconnect *, bool login_refused, mtime open_for);

#endif
