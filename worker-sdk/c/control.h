/* The control lines that come on standard input. Part of the worker SDK, internal.
 * Reads only after poll said so, in blocking mode: O_NONBLOCK would be shared with whoever else
 * holds this pipe, a shell around us for one. */
#ifndef WPOOL_CONTROL_H
#define WPOOL_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#define CONTROL_LINE_MAX 4096

struct control {
	int fd; /* owned */
	bool closed;
	bool quit;
	bool interrupt; /* __context_switch__ since control_begin_task */
	bool skipping;  /* in the rest of a line that was too long to be one of ours */
	size_t used;
	char line[CONTROL_LINE_MAX];
};

/* Takes standard input for itself and leaves /dev/null there: a program that the handler starts
 * must not read our lines. 0, or -1 with errno. */
int control_init(struct control *);
void control_release(struct control *);
/* Waits for the first line, the address of the data pipe. False: standard input ended before it, it
 * is empty or too long. */
bool control_read_address(struct control *, char ret_address[CONTROL_LINE_MAX]);
/* Reads once, because poll said that it can be done without waiting, and obeys whole lines. */
void control_read(struct control *);
/* Reads all that is there now. */
void control_drain(struct control *);
/* An interruption meant the task before; forget it. */
void control_begin_task(struct control *);

#endif
