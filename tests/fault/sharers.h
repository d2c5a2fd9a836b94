/* Three supervisors of one queue that share a throttle: a limit of starts in a period for all of
 * them together. When each task was written to its worker is recorded by recorded_starts.c. */
#ifndef FAULT_SHARERS_H
#define FAULT_SHARERS_H

#include "fault/account.h"
#include "fault/fault.h"
#include "harness/begins.h"
#include "harness/peers.h"

#define SHARERS          3
#define SHARERS_LIMIT    20 /* starts in a second */
#define SHARERS_PREFETCH 16

struct sharers {
	struct peer peers[SHARERS];
	struct begins begins;
	const char *throttle;       /* its name */
	const char *environment[4]; /* of the supervisors */
	long begun;
	int64_t shortest_us; /* the shortest time of limit + 1 starts so far */
	long below;          /* rounds in which one was shorter than the period */
};

/* brokers: for each of them settings of the section broker. None leads before there are tasks. */
struct sharers *sharers_start(const char *const brokers[SHARERS]);
/* Stop all: each must exit with 0. Their longest turns go into the tally. */
void sharers_end(struct sharers *, struct tally *);
/* The queue of requests; valid until the row's end. */
const char *sharers_requests(const struct sharers *);
/* Wait until one leads that is not this one (-1: any). */
int sharers_await_leader(struct sharers *, int but);
/* Fill the queue, so that all have something to do for some seconds. */
void sharers_load(struct account *);
/* Wait until that many more tasks have begun. */
void sharers_await_begun(struct sharers *, long count);
/* Fail the test if more tasks began in a period than the limit. */
void sharers_check(struct sharers *);
/* "21 starts took 1000 ms or longer (limit 20 in 1000 ms; 0 rounds below 1000 ms)" */
char *sharers_note(const struct sharers *);

#endif
