/* What becomes of each pool when a configuration is read again: decided before anything is done.
 * Layer: cli. Pools are known by their names. */
#ifndef CLI_RELOAD_PLAN_H
#define CLI_RELOAD_PLAN_H

#include "cli/fleet.h"
#include "config/config.h"
#include "config/settings.h"

#include <jansson.h>

/* The words are an interface (docs/control.md). */
#define RELOAD_DEEDS(X)                                                                            \
	X(RELOAD_LEAVES_IT, "unchanged")                                                           \
	X(RELOAD_CHANGES_IT, "changed")     /* while it works */                                   \
	X(RELOAD_RESTARTS_IT, "restarting") /* and its workers are replaced, one by one */         \
	X(RELOAD_REPLACES_IT, "replaced")   /* by a new one beside it; it drains */                \
	X(RELOAD_ADDS_IT, "added")                                                                 \
	X(RELOAD_REMOVES_IT, "removed") /* it drains */

enum reload_deed {
#define X(deed, words) deed,
	RELOAD_DEEDS(X)
#undef X
};

struct reload_step {
	enum reload_deed deed;
	struct station *station;    /* there is; NULL: it is added */
	struct config_pool *config; /* what it is to be; NULL: it is removed */
	json_t *words;              /* owned; of the answer: name, what, settings */
};

/* Stations and configurations are borrowed. Zero may be released. */
struct reload_plan {
	struct reload_step *steps; /* owned; in the order of the new configuration, then the rest */
	size_t count;
};

/* False: out of memory; to be released in any case. */
bool reload_plan_make(struct reload_plan *, const struct fleet *, struct config *other);
void reload_plan_release(struct reload_plan *);
/* The settings of a scope that differ, [{"key", "from", "to"}]; anew: those that can not be taken
 * over, or the others. What may hold a secret has no from and to. NULL: out of memory. */
json_t *reload_settings(enum setting_scope, const void *old, const void *other, bool anew);

#endif
