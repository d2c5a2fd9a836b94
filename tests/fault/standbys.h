/* Several supervisors of one queue with sessions: one is active, the others stand by. All reach the
 * broker through a proxy, so that one of them can be cut off. takeover_delay is 10 s. */
#ifndef FAULT_STANDBYS_H
#define FAULT_STANDBYS_H

#include "fault/keyed.h"

#include <sys/types.h>

#define STANDBYS_DELAY_MS 10000
#define STANDBYS_WORKERS  4 /* of each supervisor */
#define STANDBYS_PREFETCH 64

/* What ends the turn of the active one. */
enum departure {
	DEPARTURE_KILLED,
	DEPARTURE_STOPPED,    /* SIGSTOP; it goes on when another one is active */
	DEPARTURE_BLACK_HOLE, /* its connections are open and nothing passes; then they are cut */
	DEPARTURE_DRAINED,    /* SIGTERM */
	DEPARTURES
};

struct standbys;

/* Start that many, at most 3, and wait until one is active and consumes. */
struct standbys *standbys_start(int count);
/* Stop all: each must exit with 0. Their longest turns go into the tally. NULL is allowed. */
void standbys_end(struct standbys *, struct tally *);
pid_t standbys_active_pid(const struct standbys *);
/* End the turn of the active one, and wait until another one is active and there are as many as
 * before. Return after how many milliseconds it was. */
long standbys_depart(struct standbys *, enum departure);
/* Cut all connections of the active one. */
void standbys_cut(struct standbys *);

#endif
