/* Whether a child has started: the reader of its start pipe (process/spawn.h). Layer: process. The
 * pipe ends with the child's exec, or has the step that failed; the child's exit may be seen before
 * that. Owns the descriptor. */
#ifndef PROCESS_CHILD_START_H
#define PROCESS_CHILD_START_H

#include "core/exit.h"
#include <ev.h>

struct child_start {
	struct ev_loop *loop; /* borrowed, from child_start_watch on */
	int fd;               /* -1: it was read, or there is no child */
	ev_io readable;
	struct exit_info failure; /* EXIT_NONE: none is known */
	void (*on_runs)(void *ctx);
	void *ctx;
};

/* No child. */
void child_start_init(struct child_start *);
/* fd moves in. Until child_start_ended or child_start_close, on_runs is called when the program
 * runs; NULL: nothing is. */
void child_start_watch(
	struct child_start *, struct ev_loop *, int fd, void (*on_runs)(void *ctx), void *ctx);
/* The child was reaped: replace *exit by the failure of its start, if it failed. */
void child_start_ended(struct child_start *, struct exit_info *exit);
void child_start_close(struct child_start *);

#endif
