/* A shelf: things of one size, numbered from 0, that are added at run time and never move, because
 * others point into them. Layer: base.
 * Owns their memory; it comes zeroed, a board for all that are added at once, and goes back
 * together. */
#ifndef BASE_SHELF_H
#define BASE_SHELF_H

#include "base/rc.h"
#include <stddef.h>
#include <stdint.h>

struct shelf {
	void **at;    /* count of them; this table does move */
	void *boards; /* the newest, each with a pointer to the one before */
	size_t size;  /* of a thing */
	uint32_t count;
};

/* Empty; size: bytes of a thing. */
void shelf_init(struct shelf *, size_t size);
/* All of them at once. */
void shelf_release(struct shelf *);
/* At least so many; those that are new are zero. RC_MEMORY: nothing has changed. */
enum rc shelf_grow(struct shelf *, uint32_t count) MUST_CHECK;

#endif
