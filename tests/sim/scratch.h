/* Buffers of the fake broker for what it builds. They are allocated once for a run, because it
 * builds much. */
#ifndef SIM_SCRATCH_H
#define SIM_SCRATCH_H

#include "base/buf.h"

enum scratch_use {
	SCRATCH_HEADERS,
	SCRATCH_PROPERTIES,
	SCRATCH_EVENT,
	SCRATCH_ARRAY,
	SCRATCH_KEYS
};
#define SCRATCH_USES (SCRATCH_KEYS + 1)

struct scratch {
	struct buf bufs[SCRATCH_USES];
};

static inline void scratch_init(struct scratch *scratch, size_t limit)
{
	for (int i = 0; i < SCRATCH_USES; i++)
		buf_init(&scratch->bufs[i], limit);
}

static inline void scratch_release(struct scratch *scratch)
{
	for (int i = 0; i < SCRATCH_USES; i++)
		buf_release(&scratch->bufs[i]);
}

/* An empty buffer. Its bytes are valid until the next call for the same use. */
static inline struct buf *scratch_take(struct scratch *scratch, enum scratch_use use)
{
	buf_clear(&scratch->bufs[use]);
	return &scratch->bufs[use];
}

#endif
