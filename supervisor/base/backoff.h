/* Waits that grow with each failure. Layer: base, pure. A wait doubles from first to max and stays
 * there. Each is shortened at random by up to a quarter, so that many supervisors which lost the
 * same broker do not return at the same instant. The randomness comes from a seed. */
#ifndef BASE_BACKOFF_H
#define BASE_BACKOFF_H

#include "base/mtime.h"

struct backoff {
	mtime first, max; /* both above 0 */
	mtime wait;       /* the latest, before it was shortened; 0: none since the last success */
	uint32_t random;
};

/* The wait after this many failures in a row (from 1), not shortened. */
mtime backoff_wait(mtime first, mtime max, uint32_t failures);

void backoff_init(struct backoff *, mtime first, mtime max, uint32_t seed);
/* After a success: the next failure waits for first again. */
void backoff_reset(struct backoff *);
/* The wait after one more failure. */
mtime backoff_next(struct backoff *);
/* A random span below max, which is above 0. The next wait stays the same. */
mtime backoff_random_below(struct backoff *, mtime max);

#endif
