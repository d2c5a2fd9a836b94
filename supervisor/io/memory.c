#include "io/memory.h"

#include <malloc.h>

#define MIB (1024 * 1024)

/* Below, blocks are used again and again without the kernel. The allocator's own threshold rises
 * with what is freed, up to 32 MiB, and nothing that large ever comes back. */
#define LARGE_BLOCK MIB
/* At the end of the heap, while work flows. */
#define KEPT_AT_WORK (8 * MIB)
/* Free blocks in the heap that are worth a call of the kernel's for each page. */
#define WORTH_IT MIB

void memory_prepare(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
	mallopt(M_TRIM_THRESHOLD, KEPT_AT_WORK);
}

void memory_give_back(void)
{
	if (mallinfo2().fordblks >= WORTH_IT)
		malloc_trim(0);
}
