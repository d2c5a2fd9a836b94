#include "unit/support/core/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

long callocs_left = LONG_MAX, mallocs_left = LONG_MAX;

/* The C library's own, each with a tap that the test can close. */
void *calloc(size_t count, size_t size)
{
	static void *(*real)(size_t, size_t);
	static char early[4096]; /* dlsym itself asks */
	static bool is_asking;
	if (callocs_left-- <= 0 || (is_asking && count * size > sizeof early)) {
		errno = ENOMEM;
		return NULL;
	}
	if (is_asking)
		return early;
	if (!real) {
		is_asking = true;
		real = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
		is_asking = false;
	}
	return real(count, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	static void *(*real)(size_t, size_t);
	if (callocs_left-- <= 0) {
		errno = ENOMEM;
		return NULL;
	}
	if (!real)
		real = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
	return real(alignment, size);
}

static bool is_refused(void)
{
	bool is_empty = mallocs_left-- <= 0;
	if (is_empty)
		errno = ENOMEM;
	return is_empty;
}

void *malloc(size_t size)
{
	static void *(*real)(size_t);
	if (is_refused())
		return NULL;
	if (!real)
		real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	return real(size);
}

void *realloc(void *memory, size_t size)
{
	static void *(*real)(void *, size_t);
	if (is_refused())
		return NULL;
	if (!real)
		real = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	return real(memory, size);
}
