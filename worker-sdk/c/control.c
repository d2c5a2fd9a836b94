#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
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

void control_read(struct control *control)
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

static const struct {
	const char *word;
	enum control_kind kind;
} words[] = {
	{"__quit__", CONTROL_QUIT},
	{"__context_switch__", CONTROL_CONTEXT_SWITCH},
	{"__cancel__", CONTROL_CANCEL},
};

/* Digits to the end of the line, at least one; not 0, which is no id. */
static bool read_id(const char *text, uint64_t *ret_id)
{
	char *end;
	errno = 0;
	unsigned long long id = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || id == 0)
		return false;
	*ret_id = id;
	return true;
}

/* False: not a line of this version; a later one may have it. */
static bool read_line(const char *line, struct control_line *ret_line)
{
	size_t len = strcspn(line, " ");
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strlen(words[i].word) != len || memcmp(words[i].word, line, len) != 0)
			continue;
		*ret_line = (struct control_line){.kind = words[i].kind};
		if (!line[len])
			return true;
		return ret_line->kind != CONTROL_QUIT &&
		       read_id(line + len + 1, &ret_line->task_id);
	}
	return false;
}

bool control_read_address(struct control *control, char ret_address[CONTROL_LINE_MAX])
{
	char *end;
	while (!(end = memchr(control->line, '\n', control->used))) {
		if (control->closed || control->used == sizeof control->line)
			return false;
		struct pollfd wait = {.fd = control->fd, .events = POLLIN};
		if (poll(&wait, 1, -1) > 0)
			control_read(control);
	}
	*end = '\0';
	strcpy(ret_address, control->line);
	drop(control, (size_t)(end - control->line) + 1);
	return *ret_address != '\0';
}

bool control_next(struct control *control, struct control_line *ret_line)
{
	char *end;
	bool is_known = false;
	while (!is_known && (end = memchr(control->line, '\n', control->used))) {
		*end = '\0';
		is_known = !control->skipping && read_line(control->line, ret_line);
		control->skipping = false;
		drop(control, (size_t)(end - control->line) + 1);
	}
	if (control->used == sizeof control->line) {
		control->skipping = true;
		control->used = 0;
	}
	return is_known;
}

bool control_is_readable(const struct control *control)
{
	struct pollfd wait = {.fd = control->fd, .events = POLLIN};
	return !control->closed && poll(&wait, 1, 0) > 0;
}
