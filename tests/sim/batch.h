/* Many seeds over several processes, and a seed that fails in one of its own. */
#ifndef SIM_BATCH_H
#define SIM_BATCH_H

#include "sim/cover.h"
#include "sim/settings.h"

struct batch {
	uint64_t first, count;
	struct settings settings;
	unsigned jobs;
};

/* A run that failed. */
struct failure {
	uint64_t seed;
	struct settings settings;
	char words[512]; /* what it said last */
};

/* Runs them all, or until one fails. False: *ret_failure is the one with the lowest seed of those
 * that did. *ret_cover is what all of them exercised. */
bool batch_run(const struct batch *, struct cover *ret_cover, struct failure *ret_failure);
/* As batch_run, quietly and in one process: for the shrinker. */
bool batch_try(uint64_t first, uint64_t count, const struct settings *, struct failure *ret);
/* The last lines of the trace of a failure, to stdout. */
void batch_print_trace(const struct failure *);

#endif
