#include "os/memory.h"

#include <malloc.h>
#include <sys/prctl.h>

#define MIB (1024 * 1024)

/* Smaller blocks are reused without the kernel: with 8 MiB messages, mapped and unmapped each
 * time, four fifths of the supervisor's time went into page faults. Larger messages are rare;
 * this is the largest value that the allocator accepts. */
#define LARGE_BLOCK (32 * MIB)
/* Free memory at the end of the heap, while messages flow; and free blocks anywhere in it. */
#define KEPT_AT_WORK  (64 * MIB)
#define KEPT_IN_HOLES ((size_t)128 * MIB)
/* Free memory in the heap that is worth returning page by page. */
#define WORTH_IT MIB

/* LeakSanitizer attaches to its own process to look for leaks, which the kernel then refuses. So a
 * build with AddressSanitizer, which is for tests only, stays readable. */
#ifdef __has_feature
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif
#if defined __SANITIZE_ADDRESS__ || HAS_FEATURE(address_sanitizer) || HAS_FEATURE(leak_sanitizer)
#define READABLE 1
#else
#define READABLE 0
#endif

bool memory_hide(void)
{
	return READABLE || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

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
