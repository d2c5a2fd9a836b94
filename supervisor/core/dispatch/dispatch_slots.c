/* The lives of workers: which of their pipes are open, and how a worker ends. */
#include "core/dispatch/dispatch_internal.h"

#include <assert.h>

/* Whether the worker of the pipe is ready and stays may have changed. */
static void count_up(struct dispatch *dispatch, bool was_up, const struct pipe *pipe)
{
	dispatch->up += (uint32_t)pipe_is_up(pipe) - was_up;
	dispatch_unkeep_down_to(dispatch, dispatch_alone_max(dispatch));
}

void dispatch_slot_begin(struct pipe *pipe, uint32_t life)
{
	pipe->life = life;
	pipe->answers = 0;
	pipe->blame = BLAME_BEGUN;
	pipe->on_exit = OUTCOME_CRASHED;
	pipe->violation = NULL;
	pipe->counted_until = MTIME_NEVER;
}

void dispatch_slot_up(struct dispatch *dispatch, struct pipe *pipe)
{
	assert(pipe->closed & PIPE_NOT_READY && pipe->load == 0);
	pipe->closed &= ~(unsigned)(PIPE_NOT_READY | PIPE_FULL);
	dispatch_enlist(dispatch, pipe);
	count_up(dispatch, false, pipe);
}

void dispatch_slot_limit(struct dispatch *dispatch, struct pipe *pipe, uint32_t tasks_max)
{
	by_load_remove(&dispatch->open, pipe);
	pipe->tasks_max = tasks_max;
	dispatch_enlist(dispatch, pipe);
}

/* A pipe that is full could not take the suspect that it is kept for. */
void dispatch_slot_writable(struct dispatch *dispatch, struct pipe *pipe, bool is_writable)
{
	by_load_remove(&dispatch->open, pipe);
	pipe->closed &= ~(unsigned)PIPE_FULL;
	if (!is_writable) {
		dispatch_unkeep(dispatch, pipe);
		pipe->closed |= PIPE_FULL;
	}
	dispatch_enlist(dispatch, pipe);
}

void dispatch_slot_dismiss(struct dispatch *dispatch, struct pipe *pipe)
{
	bool was_up = pipe_is_up(pipe);
	dispatch_close(dispatch, pipe, PIPE_DISMISSED);
	dispatch_unkeep(dispatch, pipe);
	count_up(dispatch, was_up, pipe);
}

void dispatch_slot_keep(struct dispatch *dispatch, struct pipe *pipe)
{
	bool was_up = pipe_is_up(pipe);
	pipe->closed &= ~(unsigned)PIPE_DISMISSED;
	dispatch_enlist(dispatch, pipe);
	count_up(dispatch, was_up, pipe);
}

void dispatch_slot_stop(struct dispatch *dispatch, struct pipe *pipe)
{
	bool was_up = pipe_is_up(pipe);
	dispatch_close(dispatch, pipe, PIPE_NOT_READY);
	dispatch_unkeep(dispatch, pipe);
	count_up(dispatch, was_up, pipe);
	running_blame_killed(pipe);
	if (pipe->begun > 1 && pipe->blame == BLAME_BEGUN)
		pipe->blame = BLAME_SUSPECTS;
	for (struct link *link = pipe->tasks.next; pipe->begun > 0; link = link->next) {
		struct delivery *delivery = CONTAINER_OF(link, struct delivery, place);
		running_end(&dispatch->running, delivery);
		dispatch->accepted -= delivery->is_accepted;
	}
	pipe->closed &= ~(unsigned)PIPE_OVERDUE;
	dispatch_end_wait(pipe);
}
