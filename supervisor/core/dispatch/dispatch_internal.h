/* What the files of dispatch share. Layer: core. */
#ifndef CORE_DISPATCH_DISPATCH_INTERNAL_H
#define CORE_DISPATCH_DISPATCH_INTERNAL_H

#include "core/dispatch/dispatch.h"

/* At most so many tasks are sent in one run: to encode one takes about a microsecond, and workers
 * with thousands of places may become ready at once. */
#define DISPATCH_SENDS 4096

/* dispatch.c */
/* Put the pipe into the list for its load. One that is closed, full or spent is in no list. */
void dispatch_enlist(struct dispatch *, struct pipe *);
void dispatch_close(struct dispatch *, struct pipe *, enum pipe_closed why);

/* The head of the pipe ends: what its time has closed is open again. */
static inline void dispatch_end_wait(struct pipe *pipe)
{
	list_remove(&pipe->in_time);
	pipe->closed &= ~(unsigned)PIPE_HELD_UP;
}

/* dispatch_alone.c */
/* At most so many workers are for suspects only: half of them, at least one. */
uint32_t dispatch_alone_max(const struct dispatch *);
/* Return an empty pipe for a suspect; or NULL, and the least loaded ones are kept until they are.
 */
struct pipe *dispatch_pipe_for_suspect(struct dispatch *, mtime now);
/* The pipe, if it is kept, is not any more; it is not put into a list for its load. */
void dispatch_unkeep(struct dispatch *, struct pipe *);
/* Keep the latest not any more: one that is not empty, if there is one. At least one is kept. */
void dispatch_unkeep_last(struct dispatch *);
/* Keep fewer, until so many pipes are for suspects. */
static inline void dispatch_unkeep_down_to(struct dispatch *dispatch, uint32_t alone)
{
	while (dispatch->alone > alone && !list_is_empty(&dispatch->kept))
		dispatch_unkeep_last(dispatch);
}
/* A pipe that has become empty: it is kept for a suspect, or its suspect has ended. */
void dispatch_alone_is_empty(struct dispatch *, struct pipe *);

/* A throttle has refused all suspects: the first of them is the first again. */
bool dispatch_suspects_are_held(const struct dispatch *);
/* It is asked about before those that a throttle has refused. */
void dispatch_add_suspect(struct dispatch *, struct delivery *);
/* A throttle has refused the first one. One of another key may start, so the next one is asked
 * about, until the first that was refused has its turn again. */
void dispatch_hold_suspect(struct dispatch *, struct delivery *);

#endif
