#include "unit/support/core/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

long callocs_left = LONG_MAX;

/* The C library's own, with a tap that the test can close. */
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
