/* What a reload will do to each pool, decided before anything is done. Layer: runtime. Plain data;
 * pools are matched by name. */
#ifndef RUNTIME_RELOAD_PLAN_H
#define RUNTIME_RELOAD_PLAN_H

#include "config/config.h"
#include "config/settings.h"
#include "runtime/pool_set.h"

/* The names are an interface (docs/control.md). */
#define RELOAD_ACTIONS(X)                                                                          \
	X(RELOAD_KEEP, "unchanged")                                                                \
	X(RELOAD_CHANGE, "changed")     /* while it works */                                       \
	X(RELOAD_RESTART, "restarting") /* changed, and its workers are replaced one by one */     \
	X(RELOAD_REPLACE, "replaced")   /* by a new pool beside it; the old one drains */          \
	X(RELOAD_ADD, "added")                                                                     \
	X(RELOAD_REMOVE, "removed") /* it drains */

enum reload_action {
#define X(action, name) action,
	RELOAD_ACTIONS(X)
#undef X
};

/* Static. */
const char *reload_action_name(enum reload_action);

/* A setting that differs, its values as check-config prints them. */
struct reload_change {
	const struct setting *setting;
	struct buf from, to; /* owned; empty where has_values is false */
	bool has_values;     /* false: the values may hold a secret */
};

/* Zero is empty. */
struct reload_changes {
	struct reload_change *list; /* owned */
	size_t count;
};

struct reload_step {
	enum reload_action action;
	char *name;                    /* owned; of the pool */
	struct reload_changes changes; /* those first that cannot be changed in a working pool */
	struct pool_runtime *runtime;  /* borrowed; NULL: the pool is added */
	struct config_pool *config;    /* borrowed; the new one; NULL: the pool is removed */
};

/* A throttle that is added, changed or removed. */
struct reload_throttle {
	enum reload_action action;
	char *name; /* owned */
	struct reload_changes changes;
};

/* Zero is empty. */
struct reload_plan {
	struct reload_step *steps; /* owned; in the order of the new configuration, then removals */
	size_t count;
	struct reload_throttle *throttles; /* owned; the same */
	size_t throttle_count;
	/* Settings outside the pools: those that change now, and those that change at the next
	 * start. */
	struct reload_changes settings, needs_restart;
};

/* pools are those of old, the configuration in force. False: out of memory. Release the plan in any
 * case. */
bool reload_plan_make(struct reload_plan *, const struct pool_set *pools, const struct config *old,
	struct config *other) MUST_CHECK;
void reload_plan_release(struct reload_plan *);

#endif
