/* The latest change of how many workers a pool wants. Layer: core, plain data. */
#ifndef CORE_WORKERS_SCALING_H
#define CORE_WORKERS_SCALING_H

#include "base/mtime.h"
#include <stdint.h>

#define SCALING_CAUSES(X)                                                                          \
	X(SCALING_NONE, "")         /* there was no change */                                      \
	X(SCALING_ASKED, "command") /* by an operator */                                           \
	X(SCALING_GREW, "grew")     /* no worker had a free place, and `figure` tasks waited */    \
	X(SCALING_SHRANK, "shrank") /* during `span`, at most `figure` workers were needed */

enum scaling_cause {
#define X(cause, name) cause,
	SCALING_CAUSES(X)
#undef X
};

struct scaling {
	enum scaling_cause cause;
	mtime at;
	uint16_t before, after; /* workers wanted */
	uint16_t min, max;      /* the bounds of the pool's choice; equal: the number is fixed */
	uint32_t figure;
	mtime span; /* SCALING_SHRANK */
};

#endif
