/* Run a script on one broker, and record the events of each step. */
#ifndef DIFF_RUN_H
#define DIFF_RUN_H

#include "diff/perform.h"

#define COUNT_SIZE 64

/* A step sends commands together, then waits for all events. */
struct step {
	size_t first, end;     /* its commands in the script: from first to end - 1 */
	struct events *events; /* owned; sorted */
	char counts[SCRIPT_QUEUES][COUNT_SIZE];
	bool performed[SCRIPT_COMMANDS]; /* by index, less first */
};

struct trace {
	struct step *steps[SCRIPT_COMMANDS]; /* owned */
	size_t count;
	size_t events; /* the number of events and counts of all steps */
};

struct run;
/* Choose the next step and append it to the script. False: the script ends. */
typedef bool run_choose(void *ctx, struct script *, struct client clients[]);

/* Run on the fake broker of this release. choose makes the script; NULL: the script is complete. */
void run_on_fake(struct script *, enum broker_release, run_choose *, void *ctx, struct trace *ret);
/* Run on the broker that listens on port. Wait for the expected events; end at the first step that
 * differs. */
void run_on_port(struct script *, int port, const char *release, const struct trace *expected,
	struct trace *ret);
void trace_release(struct trace *);

/* The first step that differs; SIZE_MAX: none. */
size_t trace_compare(const struct trace *, const struct trace *);
/* Print the events of a step, and the counts that differ from those of the step before
 * (NULL: all). */
void trace_print_step(const struct step *, const struct step *before, const struct script *);

#endif
