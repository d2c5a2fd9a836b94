/* A growing, jittered wait between tries. Layer: broker.
 * Doubles from first to last and stays there; each wait is shortened by up to a quarter, so that
 * many supervisors which lost the same broker do not come back in one instant. Deterministic from
 * its seed. */
#ifndef BROKER_PATIENCE_H
#define BROKER_PATIENCE_H

#include "base/mtime.h"

struct patience {
	mtime first, last; /* both above 0 */
	mtime next;        /* the coming wait, before jitter */
	uint32_t random;
};

void patience_init(struct patience *, mtime first, mtime last, uint32_t seed);
/* It worked: the next failure waits the first span again. */
void patience_reset(struct patience *);
/* The wait after one more failure. */
mtime patience_next(struct patience *);
/* Any time below most, which is above 0; changes nothing else. */
mtime patience_any(struct patience *, mtime most);

#endif
