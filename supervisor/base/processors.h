/* The processors that this process may use: how many, by its affinity and by the quotas of its
 * control groups (cgroups(7), version 1 and 2), and for how long they were idle. Layer: base. What
 * the kernel does not show counts as: no quota, idle. */
#ifndef BASE_PROCESSORS_H
#define BASE_PROCESSORS_H

#include "base/mtime.h"

#include <limits.h>
#include <stdint.h>

/* How far the difference of two figures of processors_idle may be too large: the kernel counts in
 * ticks of this length. */
#define PROCESSORS_GRAIN (10 * MTIME_MS)

enum processors_usage {
	PROCESSORS_OF_MACHINE, /* all of the time of those in our affinity */
	PROCESSORS_OF_GROUP_1, /* a quota; the used time is in a file of version 1 */
	PROCESSORS_OF_GROUP_2,
};

struct processors {
	uint32_t share; /* in thousandths of a processor; 1 or more */
	enum processors_usage usage;
	char root[PATH_MAX];
	char group[PATH_MAX]; /* folder of the group whose quota is the smallest, for its usage */
};

/* Look at this process. root: "", but in tests a folder that has the files of a kernel. */
void processors_find(struct processors *, const char *root);
/* Rounded up. */
static inline uint32_t processors_count(const struct processors *processors)
{
	return (processors->share + 999) / 1000;
}
/* The processor time that was not used, since a fixed moment; now: by a clock that does not jump.
 */
mtime processors_idle(const struct processors *, mtime now);

#endif
