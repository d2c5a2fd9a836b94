#include "os/loop.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define PAUSE_NS 1000000L

/* libev seldom allocates, and only a few kilobytes. If they are refused it aborts, so wait for
 * memory instead. */
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

void loop_keep_watching(struct ev_loop *loop, struct ev_io *io, int events)
{
	static unsigned paused_in = (unsigned)-1; /* a turn of the loop */
	if (!(events & EV_ERROR))
		return;
	/* If the kernel refuses one descriptor it refuses all: pause once for all of them. */
	if (ev_iteration(loop) != paused_in) {
		paused_in = ev_iteration(loop);
		nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
	}
	/* Set it again, otherwise libev sees no change and does not ask the kernel. */
	ev_io_stop(loop, io);
	ev_io_set(io, io->fd, io->events & (EV_READ | EV_WRITE));
	ev_io_start(loop, io);
}

void loop_start_timer(struct ev_loop *loop, struct ev_timer *timer, mtime span)
{
	ev_timer_stop(loop, timer);
	ev_now_update(loop);
	ev_timer_set(timer, span > 0 ? (double)span / MTIME_SECOND : 0, 0);
	ev_timer_start(loop, timer);
}

struct ev_loop *loop_default(void)
{
	ev_set_allocator(allocate);
	return ev_default_loop(EVBACKEND_EPOLL | EVFLAG_NOENV);
}

void loop_unblock_signals(void)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}
