/* Commands of pools that could not be started as things are. Layer: cli.
 * A doubt, no mistake: what is not there now may be there when it is wanted, or on the machine that
 * the configuration is for. */
#ifndef CLI_PROGRAMS_H
#define CLI_PROGRAMS_H

#include "config/config.h"

/* Appends a line for each pool whose program is not there, or can not be run by us. */
void programs_append_doubts(const struct config *, struct buf *out);

#endif
