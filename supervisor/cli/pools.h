/* The table of pools. Layer: cli. */
#ifndef CLI_POOLS_H
#define CLI_POOLS_H

#include "cli/inquiry.h"

/* Asks for them, and prints it; an exit code. */
int pools_print(const struct inquiry *);

#endif
