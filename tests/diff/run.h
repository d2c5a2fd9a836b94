/* Runs a script on one broker and writes down what came of each step. */
#ifndef DIFF_RUN_H
#define DIFF_RUN_H

#include "diff/perform.h"

#define COUNT_WORDS 64

/* Commands from first up to the next step's are sent together; then everything is waited for. */
struct step {
	size_t first, end;
	struct events *events; /* owned; sorted */
	char counts[SCRIPT_QUEUES][COUNT_WORDS];
	bool performed[SCRIPT_COMMANDS]; /* from first on */
};

struct trace {
	struct step *steps[SCRIPT_COMMANDS]; /* owned */
	size_t count;
	size_t events; /* those of all steps, and the counts */
};

struct run;
/* Chooses the next step and appends it to the script; false: the script is at its end. */
typedef bool run_choose(void *ctx, struct script *, struct client clients[]);

/* On the fake broker of that release. choose makes the script; NULL: it is made. */
void run_on_fake(struct script *, enum broker_release, run_choose *, void *ctx, struct trace *ret);
/* On a broker that listens there. What is expected is waited for; ends at the first step that
 * differs from it. */
void run_on_port(struct script *, int port, const char *release, const struct trace *expected,
	struct trace *ret);
void trace_release(struct trace *);

/* The first step in which they differ; SIZE_MAX: none. */
size_t trace_compare(const struct trace *, const struct trace *);
/* What came of a step, as lines; counts only where they are not as before it (NULL: all). */
void trace_print_step(const struct step *, const struct step *before, const struct script *);

#endif
