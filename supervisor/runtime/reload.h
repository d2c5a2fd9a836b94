/* Reload: read the configuration again from the sources of the start, check all of it, and apply it
 * to the working pools, or change nothing. Layer: runtime.
 * What takes time (a pool that drains, workers that are replaced) goes on afterwards; another
 * reload may come meanwhile. Logs what it does, unless it is a dry run. */
#ifndef RUNTIME_RELOAD_H
#define RUNTIME_RELOAD_H

#include "runtime/broker_links.h"
#include "runtime/phase.h"
#include "runtime/reload_plan.h"

/* All borrowed. */
struct reload {
	const struct config_flags *flags;
	struct config *config; /* in force, except for its pools */
	struct pool_set *pool_set;
	struct broker_links *broker_links;
	struct throttles *throttles;
	const struct runtime_shared *tools;
	const enum phase *phase;
};

enum reload_result {
	RELOAD_DONE,
	RELOAD_REFUSED, /* not possible now */
	RELOAD_INVALID, /* the configuration is wrong */
	RELOAD_NO_MEMORY
};

struct reload_outcome {
	enum reload_result result;
	bool is_dry;
	const char *refusal;      /* RELOAD_REFUSED: why; static */
	struct problems problems; /* RELOAD_INVALID: all of them; RELOAD_DONE: warnings */
	struct reload_plan plan;  /* RELOAD_DONE; the pointers runtime and config of its steps are
				     not valid any more */
};

/* requested_by: who asks, for the log. is_dry: only plan. *ret is to be released in any case. */
void reload_run(struct reload *, const char *requested_by, bool is_dry, struct reload_outcome *ret);
void reload_outcome_release(struct reload_outcome *);
/* In each turn: drain replaced pools whose successors are ready, free those that are drained. */
void reload_sweep(struct reload *);

#endif
