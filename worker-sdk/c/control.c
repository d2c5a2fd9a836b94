#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

int control_init(struct control *control)
{
	*control = (struct control){.fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)};
	if (control->fd < 0)
		return -1;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0)
		return 0; /* so that the handler's children do not read it */
	dup2(null, STDIN_FILENO);
	close(null);
	return 0;
}

void control_release(struct control *control)
{
	if (control->fd >= 0)
		close(control->fd);
}

/* Read once, behind what is kept. */
static void fill(struct control *control)
{
	ssize_t got;
	do
		got = read(control->fd, control->line + control->used,
			sizeof control->line - control->used);
	while (got < 0 && errno == EINTR);
	if (got > 0)
		control->used += (size_t)got;
	else if (got == 0 || errno != EAGAIN)
		control->closed = true;
}

static void drop(struct control *control, size_t len)
{
	control->used -= len;
	memmove(control->line, control->line + len, control->used);
}

static void obey(struct control *control, const char *line)
{
	if (strcmp(line, "__quit__") == 0)
		control->quit = true;
	else if (strcmp(line, "__context_switch__") == 0)
		control->interrupt = true;
}

/* Ignore unknown lines: a later version of the protocol may have them. */
static void obey_lines(struct control *control)
{
	char *end;
	while ((end = memchr(control->line, '\n', control->used))) {
		*end = '\0';
		if (!control->skipping)
			obey(control, control->line);
		control->skipping = false;
		drop(control, (size_t)(end - control->line) + 1);
	}
	if (control->used == sizeof control->line) {
		control->skipping = true;
		control->used = 0;
	}
}

bool control_read_address(struct control *control, char ret_address[CONTROL_LINE_MAX])
{
	char *end;
	while (!(end = memchr(control->line, '\n', control->used))) {
		if (control->closed || control->used == sizeof control->line)
			return false;
		struct pollfd wait = {.fd = control->fd, .events = POLLIN};
		if (poll(&wait, 1, -1) > 0)
			fill(control);
	}
	*end = '\0';
	strcpy(ret_address, control->line);
	drop(control, (size_t)(end - control->line) + 1);
	obey_lines(control);
	return *ret_address != '\0';
}

void control_read(struct control *control)
{
	fill(control);
	obey_lines(control);
}

void control_drain(struct control *control)
{
	struct pollfd wait = {.fd = control->fd, .events = POLLIN};
	while (!control->closed && poll(&wait, 1, 0) > 0)
		control_read(control);
}

void control_begin_task(struct control *control)
{
	control->interrupt = false;
}
