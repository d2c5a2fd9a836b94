/* The control lines on standard input. Part of the worker SDK, internal.
 * Reads only when poll reports input, in blocking mode: O_NONBLOCK would also change the other
 * holders of this pipe, for example a shell around us. */
#ifndef WPOOL_CONTROL_H
#define WPOOL_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_LINE_MAX 4096

struct control {
	int fd; /* owned */
	bool closed;
	bool skipping; /* skipping the rest of a line that is too long for a control line */
	size_t used;
	char line[CONTROL_LINE_MAX];
};

enum control_kind { CONTROL_QUIT, CONTROL_CONTEXT_SWITCH, CONTROL_CANCEL };

struct control_line {
	enum control_kind kind;
	uint64_t task_id; /* 0: the line names none */
};

/* Move standard input to another descriptor, and put /dev/null in its place: a program that the
 * handler starts must not read the control lines. Return 0, or -1 with errno. */
int control_init(struct control *);
void control_release(struct control *);
/* Wait for the first line, the address of the data pipe. False: standard input ended before, or the
 * line is empty or too long. */
bool control_read_address(struct control *, char ret_address[CONTROL_LINE_MAX]);
/* Read once, after poll reported input. Then take the lines out until there is none, before the
 * next read. */
void control_read(struct control *);
/* Take out the next whole line that this version knows. False: there is none. */
bool control_next(struct control *, struct control_line *ret_line);
/* Return whether control_read would not wait. */
bool control_is_readable(const struct control *);

#endif
