/* What there is to be seen of a supervisor that serves, and to be asked. Layer: cli, plain data.
 * The supervisor's own parts, borrowed as long as it runs: those who show them look, each time they
 * are asked, and keep nothing. */
#ifndef CLI_OVERVIEW_H
#define CLI_OVERVIEW_H

#include "cli/links.h"
#include "io/pulse.h"

/* The words are an interface (docs/control.md). */
#define PHASES(X)                                                                                  \
	X(SERVING, "serving")                                                                      \
	X(DRAINING, "draining") /* finishes what is in hand */                                     \
	X(FORCED, "stopping")   /* stops at once */                                                \
	X(LEAVING, "leaving")   /* closes its connections */                                       \
	X(STOPPED, "stopped")   /* ends */

enum phase {
#define X(phase, words) phase,
	PHASES(X)
#undef X
};

struct overview {
	const struct config *config; /* but for its pools: those are the fleet's */
	const struct fleet *fleet;
	const struct links *links;
	const struct pulse *pulse;
	const enum phase *phase;
	mtime started;
	uint64_t started_wall_s; /* seconds since 1970 */
	bool is_settled;         /* STOPPED: and nothing was cut short */
	/* What may be asked of the whole, beside what is asked of its pools: a graceful stop, which
	 * has begun already perhaps, or one at once. */
	void (*stop)(void *ctx, bool at_once);
	void *ctx;
	struct reload *reload; /* reload.h */
};

#endif
