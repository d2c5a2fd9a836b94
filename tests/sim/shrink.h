/* Find the smallest run that still fails in the same way: remove troubles and reduce numbers, one
 * after the other, and try the same seed and a few others each time. */
#ifndef SIM_SHRINK_H
#define SIM_SHRINK_H

#include "sim/batch.h"

struct failure shrink_failure(const struct failure *);
/* Print the command that replays it to stdout. */
void shrink_print_command(const struct failure *);

#endif
