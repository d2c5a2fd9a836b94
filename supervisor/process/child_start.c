#include "process/child_start.h"

#include "os/descriptors.h"
#include "os/loop.h"
#include "process/spawn.h"

/* SPAWN_PENDING: the child has neither started nor failed. */
static enum spawn_outcome read_outcome(struct child_start *start)
{
	enum spawn_outcome outcome = spawn_outcome(start->fd, &start->failure);

	if (outcome != SPAWN_PENDING)
		child_start_close(start);
	return outcome;
}

static void on_readable(struct ev_loop *loop, ev_io *io, int events)
{
	struct child_start *start = io->data;

	loop_keep_watching(loop, io, events);
	if (read_outcome(start) == SPAWN_RUNS && start->on_runs)
		start->on_runs(start->ctx);
}

void child_start_init(struct child_start *start)
{
	*start = (struct child_start){.fd = -1};
	ev_init(&start->readable, on_readable);
	start->readable.data = start;
}

void child_start_watch(struct child_start *start, struct ev_loop *loop, int fd,
	void (*on_runs)(void *ctx), void *ctx)
{
	start->loop = loop;
	start->fd = fd;
	start->failure = (struct exit_info){.kind = EXIT_NONE};
	start->on_runs = on_runs;
	start->ctx = ctx;
	ev_io_set(&start->readable, fd, EV_READ);
	ev_io_start(loop, &start->readable);
}

void child_start_ended(struct child_start *start, struct exit_info *exit)
{
	if (start->fd >= 0)
		(void)read_outcome(start);
	if (start->failure.kind != EXIT_NONE)
		*exit = start->failure;
}

void child_start_close(struct child_start *start)
{
	if (start->fd < 0)
		return;
	ev_io_stop(start->loop, &start->readable);
	descriptor_close(&start->fd);
}
