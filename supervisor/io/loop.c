#include "io/loop.h"

#include <stdlib.h>
#include <time.h>

#define PAUSE_NS 1000000L

/* The few kilobytes that libev asks for, once in a while, are all the loop needs to run. Without
 * them it can neither go on nor stop in order, so there is nothing better to do than to wait. */
static void *allocate(void *memory, long size)
{
	if (size == 0) {
		free(memory);
		return NULL;
	}
	void *grown;
	while (!(grown = realloc(memory, (size_t)size)))
		nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
	return grown;
}

struct ev_loop *loop_default(void)
{
	ev_set_allocator(allocate);
	return ev_default_loop(EVBACKEND_EPOLL | EVFLAG_NOENV);
}
