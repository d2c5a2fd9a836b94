/* The values of a pool's figures. Layer: control.
 * api/figures.def has the list and each getter. */
#ifndef CONTROL_FIGURES_H
#define CONTROL_FIGURES_H

#include "api/figures.h"
#include "core/session_facts.h"
#include "runtime/pool_runtime.h"

#include <jansson.h>

/* The data that the getters read; valid until the pool's next step. */
struct pool_view {
	const struct pool_runtime *runtime;
	const struct statistics *statistics;
	struct pool_facts facts;
	struct slot_counts slots; /* read at the first figure that needs them */
	struct session_counts sessions;
	bool has_slots, has_sessions;
};

struct pool_view pool_view_of(const struct pool_runtime *);
/* False: the pool cannot have this figure, because it has no sessions, or no throttle. */
bool figure_is_of(const struct pool_view *, enum api_figure_id);
/* Return a count, bytes, 0 or 1, or microseconds; MTIME_NEVER if it is not known. */
int64_t figure_value(struct pool_view *, enum api_figure_id);
/* API_TIMES. */
const struct histogram *figure_times(const struct pool_view *, enum api_figure_id);
/* API_BY_LABEL: call on_count for each value of the label. */
void figure_each_label(struct pool_view *, enum api_figure_id,
	void (*on_count)(void *ctx, const char *label, const char *value, uint64_t count),
	void *ctx);
/* Set all figures of the pool that have a path as members of an object. False: out of memory. */
bool figures_set_members(struct pool_view *, json_t *pool);

#endif
