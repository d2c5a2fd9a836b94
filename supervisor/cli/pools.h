/* The table of pools. Layer: cli. */
#ifndef CLI_POOLS_H
#define CLI_POOLS_H

#include "cli/inquiry.h"

/* What a pool is at; one that would consume, and does not, says so. */
struct text pools_state(const json_t *pool);
/* Asks for them, and prints it, below it what their workers died with, and if so wanted what is
 * wrong; an exit code. */
int pools_print(const struct inquiry *, bool with_reasons);

#endif
