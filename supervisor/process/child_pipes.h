/* The standard streams of a child that is about to be started. Layer: process. Owns the six
 * descriptors until one is taken; all are close-on-exec, ours non-blocking. */
#ifndef PROCESS_CHILD_PIPES_H
#define PROCESS_CHILD_PIPES_H

#include <stdbool.h>
#include <sys/types.h>

enum child_stream { CHILD_INPUT, CHILD_OUTPUT, CHILD_ERROR, CHILD_STREAMS };

struct child_pipes {
	int theirs[CHILD_STREAMS]; /* become 0, 1, 2 of the child */
	int ours[CHILD_STREAMS];   /* write to its stdin, read its stdout and stderr */
};

/* Without descriptors; it may be closed. */
void child_pipes_init(struct child_pipes *);
/* has_socket: its stdin is a Unix socket of sequenced packets, for both directions. False: see
 * errno, and none is open. */
bool child_pipes_open(struct child_pipes *, bool has_socket);
/* Give the child's ends to another user, so that it can open /dev/stdout. False: see errno. */
bool child_pipes_give(const struct child_pipes *, uid_t, gid_t);
/* Our end moves out to the caller. */
int child_pipes_take(struct child_pipes *, enum child_stream);
/* Close what was not taken. errno survives. */
void child_pipes_close(struct child_pipes *);

#endif
