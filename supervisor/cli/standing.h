/* How a pool stands at this moment, as a line of the log. Layer: cli. */
#ifndef CLI_STANDING_H
#define CLI_STANDING_H

#include "base/mtime.h"

struct station;

void standing_say(const struct station *, mtime now);

#endif
