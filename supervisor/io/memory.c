#include "io/memory.h"

#include <malloc.h>

#define MIB (1024 * 1024)

/* Below, blocks are used again and again without the kernel: with 8 MiB for each message, mapped
 * and unmapped each time, four fifths of the supervisor's time went into its pages. Above, nobody's
 * messages come by the dozen; it is the most that the allocator takes. */
#define LARGE_BLOCK (32 * MIB)
/* At the end of the heap, while work flows; and free blocks anywhere in it. */
#define KEPT_AT_WORK  (64 * MIB)
#define KEPT_IN_HOLES ((size_t)128 * MIB)
/* Free blocks in the heap that are worth a call of the kernel's for each page. */
#define WORTH_IT MIB

void memory_prepare(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
	mallopt(M_TRIM_THRESHOLD, KEPT_AT_WORK);
}

void memory_give_back(bool at_work)
{
	if (mallinfo2().fordblks >= (at_work ? KEPT_IN_HOLES : WORTH_IT))
		malloc_trim(0);
}
