/* Reloads: a running supervisor gets another configuration. Pools are added, removed, replaced and
 * changed, or get another command, perhaps one whose workers never become ready. A pool that is
 * removed in a calm world finishes its tasks (account.c), and the last configuration holds in the
 * end. */
#ifndef SIM_RELOAD_H
#define SIM_RELOAD_H

#include <stdbool.h>

struct supervisor;
struct world;

/* Reload something by chance. */
void reload_any(struct world *);
/* Reload a supervisor that serves, in a calm world. */
void reload_in_order(struct supervisor *);
/* Replace a command whose workers never become ready by one that works. */
void reload_mend(struct supervisor *);
/* At the end of a turn: close the pools that have drained, and free their places. */
void reload_sweep(struct supervisor *);
/* True: no pool is leaving, and the configuration holds. */
bool reload_is_done(const struct supervisor *);

#endif
