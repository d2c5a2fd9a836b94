#include "process/own_commands.h"

#include "os/descriptors.h"
#include "os/loop.h"
#include "process/child_start.h"
#include "process/spawn.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_SIZE (32 * 1024)

/* One of the child's standard streams. */
struct child_pipe {
	struct ev_io io;
	struct buf text; /* of its input: what is not written yet */
	int fd;          /* -1: at its end */
};

struct own_commands {
	struct ev_loop *loop;
	struct reaper *reaper;
	const char *program;
	struct own_command command; /* of the one that runs: its on_end and ctx */
	bool is_running, is_closed;
	pid_t pid; /* 0: reaped, or none */
	struct child_start start;
	struct child_pipe input, output, errors;
	struct ev_timer limit;
	struct own_command_result result;
};

/* ---------- its end ---------- */

static void close_pipe(struct own_commands *own, struct child_pipe *pipe)
{
	ev_io_stop(own->loop, &pipe->io);
	descriptor_close(&pipe->fd);
}

static void release_command(struct own_commands *own)
{
	ev_timer_stop(own->loop, &own->limit);
	close_pipe(own, &own->input);
	close_pipe(own, &own->output);
	close_pipe(own, &own->errors);
	child_start_close(&own->start);
	buf_release(&own->input.text);
	buf_release(&own->output.text);
	buf_release(&own->errors.text);
	own->is_running = false;
}

/* on_end may start the next one, so the result is taken out first. */
static void finish_command(struct own_commands *own)
{
	struct own_command command = own->command;
	struct own_command_result result = own->result;
	struct buf output = own->output.text, errors = own->errors.text;

	result.output = buf_text(&output);
	result.errors = buf_text(&errors);
	buf_init(&own->output.text, 1);
	buf_init(&own->errors.text, 1);
	release_command(own);
	command.on_end(command.ctx, &result);
	buf_release(&output);
	buf_release(&errors);
}

/* Its exit and the ends of its outputs come in any order. */
static void finish_if_over(struct own_commands *own)
{
	if (own->pid == 0 && own->output.fd < 0 && own->errors.fd < 0)
		finish_command(own);
}

static void on_exit_of(void *ctx, pid_t pid, struct exit_info exit)
{
	struct own_commands *own = ctx;

	(void)pid;
	own->pid = 0;
	child_start_ended(&own->start, &exit);
	own->result.exit = exit;
	finish_if_over(own);
}

/* ---------- its input ---------- */

/* Write as much as the pipe takes. A child that reads no more has what it needs, or has failed. */
static void write_input(struct own_commands *own)
{
	struct buf *input = &own->input.text;

	while (buf_len(input) > 0) {
		struct text text = buf_text(input);
		ssize_t written = write(own->input.fd, text.ptr, text.len);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0 && errno == EAGAIN)
			return;
		if (written < 0)
			break;
		buf_consume(input, (size_t)written);
	}
	close_pipe(own, &own->input);
	buf_release(input);
}

static void on_writable(struct ev_loop *loop, struct ev_io *io, int events)
{
	(void)loop;
	(void)events;
	write_input(io->data);
}

/* ---------- its outputs ---------- */

static void on_output(struct ev_loop *loop, struct ev_io *io, int events)
{
	struct own_commands *own = io->data;
	struct child_pipe *pipe = io == &own->output.io ? &own->output : &own->errors;
	char bytes[READ_SIZE];
	ssize_t len = read(pipe->fd, bytes, sizeof bytes);

	(void)loop;
	(void)events;
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0) {
		close_pipe(own, pipe);
		finish_if_over(own);
		return;
	}
	if (!pipe->text.failed)
		buf_append_text(&pipe->text, text_of(bytes, (size_t)len));
	if (pipe == &own->output && pipe->text.failed && !own->result.is_too_long) {
		own->result.is_too_long = true;
		if (own->pid > 0) /* it may have ended, and left the rest in the pipe */
			spawn_signal(own->pid, SIGKILL);
	}
}

/* At its time limit, and again after the grace period. */
static void on_limit(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct own_commands *own = timer->data;

	(void)events;
	if (own->pid > 0)
		spawn_signal(own->pid, own->result.is_late ? SIGKILL : SIGTERM);
	own->result.is_late = true;
	loop_start_timer(loop, &own->limit, OWN_COMMAND_GRACE);
}

/* ---------- its start ---------- */

static void watch_pipe(struct own_commands *own, struct child_pipe *pipe, int fd, int events)
{
	pipe->fd = fd;
	ev_io_set(&pipe->io, fd, events);
	ev_io_start(own->loop, &pipe->io);
}

enum rc own_commands_start(
	struct own_commands *own, const struct own_command *command, struct exit_info *ret_failure)
{
	char *arguments[64] = {(char *)own->program};
	const struct spawn_request request = {
		.command = arguments, .environment = command->environment};
	struct spawned child;

	if (own->is_running || own->is_closed)
		return RC_REFUSED;
	for (size_t i = 1; command->arguments[i - 1]; i++) {
		if (i + 1 == sizeof arguments / sizeof *arguments)
			return RC_LIMIT;
		arguments[i] = command->arguments[i - 1];
	}
	buf_init(&own->input.text, SIZE_MAX);
	buf_init(&own->output.text, OWN_COMMAND_OUTPUT);
	buf_init(&own->errors.text, OWN_COMMAND_ERRORS);
	buf_append_text(&own->input.text, command->input);
	if (own->input.text.failed)
		*ret_failure = (struct exit_info){EXIT_NOT_STARTED, ENOMEM, "memory"};
	if (own->input.text.failed || spawn_process(&request, &child, ret_failure) != RC_OK) {
		buf_release(&own->input.text);
		return RC_SYSTEM;
	}
	own->command = *command;
	own->result = (struct own_command_result){0};
	own->is_running = true;
	own->pid = child.pid;
	child_start_watch(&own->start, own->loop, child.start, NULL, NULL);
	watch_pipe(own, &own->input, child.control, EV_WRITE);
	watch_pipe(own, &own->output, child.output, EV_READ);
	watch_pipe(own, &own->errors, child.error, EV_READ);
	loop_start_timer(own->loop, &own->limit, command->limit);
	if (reaper_watch(own->reaper, child.pid, on_exit_of, own))
		return RC_OK;
	/* Its exit counts as that of a stranger. */
	spawn_signal(child.pid, SIGKILL);
	own->pid = 0;
	release_command(own);
	*ret_failure = (struct exit_info){EXIT_NOT_STARTED, ENOMEM, "memory"};
	return RC_SYSTEM;
}

/* ---------- life ---------- */

struct own_commands *own_commands_new(
	struct ev_loop *loop, struct reaper *reaper, const char *program)
{
	struct own_commands *own = calloc(1, sizeof *own);

	if (!own)
		return NULL;
	own->loop = loop;
	own->reaper = reaper;
	own->program = program;
	own->input.fd = own->output.fd = own->errors.fd = -1;
	child_start_init(&own->start);
	ev_init(&own->input.io, on_writable);
	ev_init(&own->output.io, on_output);
	ev_init(&own->errors.io, on_output);
	ev_timer_init(&own->limit, on_limit, 0, 0);
	own->input.io.data = own->output.io.data = own->errors.io.data = own->limit.data = own;
	return own;
}

bool own_commands_is_busy(const struct own_commands *own)
{
	return own->is_running;
}

void own_commands_interrupt(struct own_commands *own)
{
	if (own->pid > 0)
		spawn_signal(own->pid, SIGTERM);
}

/* A killed child is gone at once, so this waits for it. */
void own_commands_close(struct own_commands *own)
{
	if (!own)
		return;
	own->is_closed = true;
	if (!own->is_running)
		return;
	if (own->pid > 0) {
		reaper_forget(own->reaper, own->pid);
		spawn_signal(own->pid, SIGKILL);
		while (waitpid(own->pid, NULL, 0) < 0 && errno == EINTR)
			continue;
		own->pid = 0;
	}
	own->result.is_cut = true;
	finish_command(own);
}

void own_commands_free(struct own_commands *own)
{
	own_commands_close(own);
	free(own);
}
