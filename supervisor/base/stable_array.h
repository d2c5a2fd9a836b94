/* An array whose elements never move when it grows, because other structures point to them.
 * Layer: base. Owns the elements' memory: zeroed, one block for each growth, freed together. */
#ifndef BASE_STABLE_ARRAY_H
#define BASE_STABLE_ARRAY_H

#include "base/rc.h"
#include <stddef.h>
#include <stdint.h>

struct stable_array {
	void **at;    /* count pointers; this table may move */
	void *blocks; /* the newest block; each points to the one before */
	size_t size;  /* of an element, in bytes */
	uint32_t count;
};

/* Start empty; size: bytes of an element. */
void stable_array_init(struct stable_array *, size_t size);
/* Free all elements. */
void stable_array_release(struct stable_array *);
/* Grow to at least count elements; new ones are zeroed. RC_MEMORY: nothing has changed. */
enum rc stable_array_grow(struct stable_array *, uint32_t count) MUST_CHECK;

#endif
