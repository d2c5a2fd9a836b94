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

/* The results of a row. account_close and watch_* add to the sums; the row adds the rest. */
struct tally {
	long trials; /* how often the fault was injected */
	long asked;  /* messages published and confirmed */
	long done;   /* of these, those that ended as expected */
	long repeats;
	long lost;
	double longest_ms;   /* turn of the loop that a supervisor logged */
	double computing_ms; /* the CPU time of that turn */
	long drift_kib; /* growth of the anonymous memory of the supervisor, after the first load */
	const char *unit; /* what a trial is: "kills", "cuts" */
	bool suspends;    /* set by a row that stops the supervisor itself, see watch_note_turns */
	char note[320];   /* further remarks; may be empty */
};

struct fault {
	int row;
	const char *name;
	long few, full; /* trials in a run of ten minutes for all rows, and in the table */
	void (*run)(struct tally *);
};

/* Run the row on a fixture of its own (harness/fixture.h). Return main's exit code. */
int fault_main(const struct fault *);

/* Start `wpool serve` with one pool of echo workers on fixture.queue; it consumes when this
 * returns. format: further settings of the pool, as in "workers: 4, pipeline: 8". */
struct proc *fault_serve(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same through a proxy at this port of 127.0.0.1, which is the address of many hosts, so that a
 * lost connection is opened again without a wait. query: of the URLs. Does not wait. */
struct proc *fault_serve_by_proxy(int port, const char *query, const char *settings);
/* The same with this pool (a line of the configuration's list). */
struct proc *fault_serve_pool_by_proxy(int port, const char *query, const char *pool);
/* The number of trials in this run. */
long fault_trials(void);
/* Count another trial. False: there are enough, or the time is over. */
bool fault_next(struct tally *);
/* Count further trials, max at most. Return how many there are to do. */
int fault_take(struct tally *, long max);
/* The part of the row that is done, by trials or by time: 0 to 1. */
double fault_share(const struct tally *);
/* A random number. Its seed is printed in the results; SEED repeats it. */
uint32_t fault_random(void);
/* 0 to bound - 1. */
long fault_random_below(long bound);

#endif
