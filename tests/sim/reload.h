/* The operators who give a supervisor another configuration while it works: pools are added,
 * removed, replaced, changed, and given another command, that of a worker which never comes up
 * perhaps. Whoever is removed in a calm world finishes what it has (account.c), and what is
 * configured holds in the end. */
#ifndef SIM_RELOAD_H
#define SIM_RELOAD_H

#include <stdbool.h>

struct supervisor;
struct world;

/* By chance. */
void reload_any(struct world *);
/* A supervisor that serves, in a calm world. */
void reload_in_order(struct supervisor *);
/* A command that was given up gets mended. */
void reload_mend(struct supervisor *);
/* The end of a turn: those that drained close, and free their places. */
void reload_sweep(struct supervisor *);
/* Nobody is on the way out, and what was configured holds. */
bool reload_is_done(const struct supervisor *);

#endif
