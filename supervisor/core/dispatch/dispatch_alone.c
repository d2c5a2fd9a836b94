/* Which workers are kept for suspects, and which suspect is asked about next. */
#include "core/dispatch/dispatch_internal.h"

/* A worker that is kept for a suspect and is not empty after so long goes back to other tasks, and
 * another one is kept: the tasks that it has may run for hours. */
#define DISPATCH_KEPT (5 * MTIME_SECOND)

uint32_t dispatch_alone_max(const struct dispatch *dispatch)
{
	return dispatch->up < 2 ? 1 : dispatch->up / 2;
}

static void keep_for_suspect(struct dispatch *dispatch, struct pipe *pipe, mtime now)
{
	dispatch_close(dispatch, pipe, PIPE_ALONE);
	dispatch->alone++;
	dispatch->kept_count++;
	pipe->kept_since = now;
	if (pipe->load == 0)
		list_prepend(&dispatch->kept, &pipe->kept);
	else
		list_append(&dispatch->kept, &pipe->kept);
}

void dispatch_unkeep(struct dispatch *dispatch, struct pipe *pipe)
{
	if (list_is_empty(&pipe->kept))
		return;
	list_remove(&pipe->kept);
	dispatch->kept_count--;
	dispatch->alone--;
	pipe->closed &= ~(unsigned)PIPE_ALONE;
}

void dispatch_unkeep_last(struct dispatch *dispatch)
{
	struct pipe *pipe = CONTAINER_OF(dispatch->kept.prev, struct pipe, kept);
	dispatch_unkeep(dispatch, pipe);
	dispatch_enlist(dispatch, pipe);
}

void dispatch_alone_is_empty(struct dispatch *dispatch, struct pipe *pipe)
{
	if (!list_is_empty(&pipe->kept)) {
		list_remove(&pipe->kept);
		list_prepend(&dispatch->kept, &pipe->kept);
	} else {
		dispatch->alone--;
		pipe->closed &= ~(unsigned)PIPE_ALONE;
	}
}

/* An idle worker takes the suspect in place of one that is kept and is not idle yet. */
static void swap_for_idle(struct dispatch *dispatch)
{
	const struct pipe *idle = by_load_first(&dispatch->open);
	if (idle && idle->load == 0 && !list_is_empty(&dispatch->kept))
		dispatch_unkeep_last(dispatch);
}

/* None that is kept is empty: keep others in place of those that are kept for too long. */
static void swap_for_others(struct dispatch *dispatch, mtime now)
{
	struct link *first;
	struct pipe *other;
	while ((first = list_first(&dispatch->kept)) && (other = by_load_first(&dispatch->open))) {
		struct pipe *busy = CONTAINER_OF(first, struct pipe, kept);
		if (now - busy->kept_since < DISPATCH_KEPT)
			break;
		dispatch_unkeep(dispatch, busy);
		keep_for_suspect(dispatch, other, now);
		dispatch_enlist(dispatch, busy);
	}
}

static struct pipe *empty_kept(const struct dispatch *dispatch)
{
	struct link *first = list_first(&dispatch->kept);
	struct pipe *pipe = first ? CONTAINER_OF(first, struct pipe, kept) : NULL;
	return pipe && pipe->load == 0 ? pipe : NULL;
}

struct pipe *dispatch_pipe_for_suspect(struct dispatch *dispatch, mtime now)
{
	struct pipe *pipe = empty_kept(dispatch);
	if (pipe)
		return pipe;
	swap_for_idle(dispatch);
	swap_for_others(dispatch, now);
	if ((pipe = empty_kept(dispatch)))
		return pipe;
	while (dispatch->alone < dispatch_alone_max(dispatch) &&
		dispatch->kept_count < dispatch->suspect_count &&
		(pipe = by_load_first(&dispatch->open))) {
		keep_for_suspect(dispatch, pipe, now);
		if (pipe->load == 0)
			return pipe;
	}
	return NULL;
}

/* ---------- throttles ---------- */

bool dispatch_suspects_are_held(const struct dispatch *dispatch)
{
	const struct delivery *first = dispatch->throttling.suspects.first;
	return first && dispatch->suspects.next == &first->place;
}

void dispatch_add_suspect(struct dispatch *dispatch, struct delivery *delivery)
{
	if (dispatch_suspects_are_held(dispatch))
		list_prepend(&dispatch->suspects, &delivery->place);
	else
		list_append(&dispatch->suspects, &delivery->place);
}

void dispatch_hold_suspect(struct dispatch *dispatch, struct delivery *delivery)
{
	const struct throttling *throttling = &dispatch->throttling;
	struct throttle_hold *hold = &dispatch->throttling.suspects;
	if (!hold->first)
		*hold = (struct throttle_hold){.first = delivery, .until = MTIME_NEVER};
	if (throttling->until < hold->until) {
		hold->until = throttling->until;
		hold->by = throttling->by;
	}
	list_remove(&delivery->place);
	list_append(&dispatch->suspects, &delivery->place);
}
