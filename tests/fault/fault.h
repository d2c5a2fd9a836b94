/* A row of the fault table in docs/reliability.md: a program that runs the real supervisor on a
 * real broker, injects a fault a number of times, and prints one line about the outcome of the
 * messages. The number is the table's with FULL=1, or N if given, within T seconds. */
#ifndef FAULT_FAULT_H
#define FAULT_FAULT_H

#include "harness/broker.h"
#include "harness/client.h"
#include "harness/deadline.h"
#include "harness/fixture.h"
#include "harness/proc.h"
#include "harness/scratch.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>

/* What a row comes to. The sums grow by account_close and watch_*; a row adds what only it knows.
 */
struct tally {
	long trials; /* times that the fault was put in */
	long asked;  /* messages published and confirmed */
	long done;   /* of those, how many ended as they were to */
	long repeats;
	long lost;
	double longest_ms;   /* turn of the loop that a supervisor logged */
	double computing_ms; /* the part of it that it was running */
	long drift_kib;      /* anonymous memory of the supervisor, from warm to the end */
	const char *unit;    /* what a trial is: "kills", "cuts" */
	bool suspends;  /* set by a row that stops the supervisor itself, see watch_note_turns */
	char note[320]; /* further remarks; may be empty */
};

struct fault {
	int row;
	const char *name;
	long few, full; /* trials in a run of ten minutes for all rows, and in the table */
	void (*run)(struct tally *);
};

/* main's value: runs the row on a fixture of its own (harness/fixture.h). */
int fault_main(const struct fault *);

/* `wpool serve` with one pool of echo workers on fixture.queue, consuming when this returns.
 * format: more of the pool's settings, as in "workers: 4, pipeline: 8". */
struct proc *fault_serve(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same through a proxy at this port of 127.0.0.1, which is the address of many hosts, so that a
 * lost connection is opened again without a wait. query: of the URLs. Does not wait. */
struct proc *fault_serve_by_proxy(int port, const char *query, const char *settings);
/* How many trials this run wants. */
long fault_trials(void);
/* Whether another trial is wanted: counts it, unless there are enough or the time is over. */
bool fault_next(struct tally *);
/* How much of the row is over, by trials or by time: 0 to 1. */
double fault_share(const struct tally *);
/* From a seed, which is printed in the results; SEED repeats it. */
uint32_t fault_random(void);
/* At least 0, below bound. */
long fault_random_below(long bound);

#endif
