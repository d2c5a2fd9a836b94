#include "publish/input.h"

#include "os/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE (128 * 1024)

static const char *const standard_input[] = {"-", NULL};

static bool is_standard_input(const char *name)
{
	return strcmp(name, "-") == 0;
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct input *in = watcher->data;
	loop_keep_watching(loop, watcher, events);
	ev_io_stop(loop, watcher);
	in->is_ready = true;
}

/* The bytes of all regular files, for a progress bar; 0 when one is something else. */
static uint64_t total_of(const char *const *files)
{
	uint64_t total = 0;
	for (; *files; files++) {
		struct stat st;
		int rc = is_standard_input(*files) ? fstat(STDIN_FILENO, &st) : stat(*files, &st);
		if (rc < 0 || !S_ISREG(st.st_mode))
			return 0;
		total += (uint64_t)st.st_size;
	}
	return total;
}

void input_init(struct input *in, struct ev_loop *loop, char *const *files, bool lines)
{
	*in = (struct input){
		.loop = loop,
		.files = *files ? (const char *const *)files : standard_input,
		.lines = lines,
		.fd = -1,
		.stopped = INPUT_WAIT,
	};

	in->total = total_of(in->files);
	ev_init(&in->readable, on_readable);
	in->readable.data = in;
	buf_init(&in->bytes, INPUT_MESSAGE_MAX + PIECE);
}

static void close_file(struct input *in)
{
	ev_io_stop(in->loop, &in->readable);
	if (in->fd >= 0 && in->fd != STDIN_FILENO)
		close(in->fd);
	in->fd = -1;
	in->is_ready = false;
}

void input_release(struct input *in)
{
	if (!in->loop)
		return;
	close_file(in);
	buf_release(&in->bytes);
}

void input_stop(struct input *in)
{
	close_file(in);
	if (in->stopped == INPUT_WAIT)
		in->stopped = INPUT_END;
}

char *input_unreadable(char *const *files)
{
	for (; *files; files++)
		if (!is_standard_input(*files) && access(*files, R_OK) < 0)
			return *files;
	return NULL;
}

static enum input_result input_fail(struct input *in, const char *why)
{
	snprintf(in->problem, sizeof in->problem, "%s: %s",
		is_standard_input(in->name) ? "standard input" : in->name, why);
	close_file(in);
	in->stopped = INPUT_FAILED;
	return INPUT_FAILED;
}

static enum input_result give_bytes(struct input *in, size_t len, size_t given, struct text *ret)
{
	in->given = given;
	in->taken += given;
	in->scanned = 0;
	*ret = text_of(in->bytes.bytes ? buf_text(&in->bytes).ptr : "", len);
	return INPUT_MESSAGE;
}

/* The first line of bytes; INPUT_WAIT: it has no end yet. */
static enum input_result give_line(struct input *in, struct text *ret_body)
{
	struct text have = buf_text(&in->bytes);
	const char *end = have.len > in->scanned
				  ? memchr(have.ptr + in->scanned, '\n', have.len - in->scanned)
				  : NULL;
	in->scanned = have.len;
	if (!end)
		return INPUT_WAIT;
	size_t len = (size_t)(end - have.ptr);
	return give_bytes(in, len, len + 1, ret_body);
}

static enum input_result read_piece(struct input *in, struct text *ret_body)
{
	uint8_t *space = buf_reserve(&in->bytes, PIECE);
	if (!space || buf_len(&in->bytes) > INPUT_MESSAGE_MAX)
		return input_fail(in, "a message of more than 512 MiB, or no memory for it");
	ssize_t got = read(in->fd, space, PIECE);
	in->is_ready = false;
	if (got < 0 && errno != EAGAIN && errno != EINTR)
		return input_fail(in, strerror(errno));
	if (got == 0) {
		/* It ends the last message: a line without its newline, or the whole file. */
		size_t left = buf_len(&in->bytes);
		close_file(in);
		return in->lines && left == 0 ? INPUT_WAIT : give_bytes(in, left, left, ret_body);
	}
	if (got > 0)
		buf_commit(&in->bytes, (size_t)got);
	return in->lines ? give_line(in, ret_body) : INPUT_WAIT;
}

enum input_result input_next(struct input *in, struct text *ret_body)
{
	buf_consume(&in->bytes, in->given);
	in->given = 0;
	if (in->stopped != INPUT_WAIT)
		return in->stopped;
	if (in->lines && give_line(in, ret_body) == INPUT_MESSAGE)
		return INPUT_MESSAGE;
	if (in->fd < 0 && !*in->files) {
		in->stopped = INPUT_END;
		return INPUT_END;
	}
	if (in->fd < 0) {
		in->name = *in->files++;
		in->fd = is_standard_input(in->name)
				 ? STDIN_FILENO
				 : open(in->name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (in->fd < 0)
			return input_fail(in, strerror(errno));
		ev_io_set(&in->readable, in->fd, EV_READ);
	}
	enum input_result result = in->is_ready ? read_piece(in, ret_body) : INPUT_WAIT;
	if (result == INPUT_WAIT && in->fd >= 0)
		ev_io_start(in->loop, &in->readable);
	return result;
}
