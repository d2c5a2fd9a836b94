/* Find the smallest run that still fails in the same way: troubles are taken out and numbers made
 * smaller, one after the other, and for each the same seed and a few others are tried. */
#ifndef SIM_SHRINK_H
#define SIM_SHRINK_H

#include "sim/batch.h"

struct failure shrink_failure(const struct failure *);
/* The command that replays it, to stdout. */
void shrink_print_command(const struct failure *);

#endif
