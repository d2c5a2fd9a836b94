/* Run many seeds in several processes. */
#ifndef SIM_BATCH_H
#define SIM_BATCH_H

#include "sim/cover.h"
#include "sim/settings.h"

struct batch {
	uint64_t first, count, step; /* each step-th seed */
	struct settings settings;
	unsigned jobs;
};

/* A run that failed. */
struct failure {
	uint64_t seed;
	struct settings settings;
	char words[512]; /* the last that it wrote to stderr */
};

/* Run all seeds, or until one fails. False: *ret_failure is the failure with the lowest seed.
 * *ret_cover is the sum of all counts. */
bool batch_run(const struct batch *, struct cover *ret_cover, struct failure *ret_failure);
/* The same in one process and without output, for the shrinker. */
bool batch_try(uint64_t first, uint64_t count, const struct settings *, struct failure *ret);
/* Print the last lines of the trace of a failure to stdout. */
void batch_print_trace(const struct failure *);

#endif
