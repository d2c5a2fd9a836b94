#include "check_worker/subject_internal.h"

#include "base/utf8.h"
#include "message/answer.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/loop.h"
#include "process/descendants.h"
#include "process/guard.h"
#include "process/reaper.h"
#include "process/spawn.h"
#include "runtime/report/texts.h"
#include "wire/frame.h"
#include "worker/incoming.h"
#include "worker/launch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define READ_SIZE  65536
#define FLOOD_SIZE (UINT64_C(16) << 20)

/* A process that dies closes its pipe first and is reaped a moment later. */
#define EXIT_MOMENT (2 * MTIME_SECOND)

/* ---------- what comes ---------- */

static bool fail_by_memory(struct subject *subject)
{
	return fault_set(&subject->fault, FAULT_MEMORY, TEXT_NONE, "out of memory");
}

static bool fail_by_output(
	struct subject *subject, struct text whole, const struct answer_fault *fault)
{
	if (fault->task_id != 0)
		return fault_set(&subject->fault, FAULT_BAD_OUTPUT, whole,
			"a bad output for task %llu: %s (%s)", (unsigned long long)fault->task_id,
			fault->what, fault->detail);
	return fault_set(&subject->fault, FAULT_BAD_OUTPUT, whole, "a bad output: %s (%s)",
		fault->what, fault->detail);
}

/* whole: the frame with its length. */
static bool take_frame(struct subject *subject, struct text frame, struct text whole)
{
	struct output *output;
	struct answer_fault fault;
	enum rc rc = answer_read(frame, &subject->setup->config.answer, &output, &fault);
	if (rc == RC_MEMORY)
		return fail_by_memory(subject);
	if (rc != RC_OK)
		return fail_by_output(subject, whole, &fault);
	if (output->invalid != REASON_NONE)
		fault_set(&subject->fault, FAULT_UNPUBLISHABLE, whole,
			"status %d with a reply that cannot be published", (int)output->status);
	else
		exchange_take(&subject->exchange, output, whole, &subject->fault);
	output_free(output);
	return subject->fault.kind == FAULT_NONE;
}

/* The frame with its length at the head of what came; empty: it is not whole. */
struct text subject_first_frame(const struct subject *subject)
{
	struct text bytes = buf_text(&subject->received);
	size_t size = WIRE_LENGTH_BYTES;
	if (bytes.len >= size)
		size += wire_get_length((const uint8_t *)bytes.ptr);
	return bytes.len < size ? TEXT_NONE : text_of(bytes.ptr, size);
}

void subject_read_on(struct subject *subject)
{
	if (subject->is_connected && !subject->has_ended)
		ev_io_start(subject_loop(subject), &subject->readable);
}

/* False: none has come whole, or .fault is set. */
bool subject_take_output(struct subject *subject)
{
	size_t limit = subject->setup->config.task.frame_limit;
	struct text bytes = buf_text(&subject->received), frame;
	struct answer_fault fault;
	if (subject->fault.kind != FAULT_NONE)
		return false;
	enum rc rc = incoming_first(bytes, limit, &frame, &fault);
	if (rc == RC_MALFORMED)
		return fault_set(&subject->fault, FAULT_BAD_LENGTH, bytes, "%s (%s)", fault.what,
			fault.detail);
	if (rc != RC_OK)
		return false;
	size_t size = WIRE_LENGTH_BYTES + frame.len;
	bool is_right = take_frame(subject, frame, text_of(bytes.ptr, size));
	buf_consume(&subject->received, size);
	subject_read_on(subject);
	return is_right;
}

static void notice_loss(struct subject *subject)
{
	if (subject->noticed_at == 0)
		subject->noticed_at = clock_now();
}

/* False: nothing more is there now, or a whole frame waits and no space is left. */
static bool read_pipe(struct subject *subject)
{
	if (buf_len(&subject->received) + READ_SIZE > subject->received.limit) {
		ev_io_stop(subject_loop(subject), &subject->readable);
		return false;
	}
	uint8_t *place = buf_reserve(&subject->received, READ_SIZE);
	if (!place)
		return fail_by_memory(subject);
	ssize_t n = read(subject->pipe.input, place, READ_SIZE);
	if (n > 0) {
		buf_commit(&subject->received, (size_t)n);
		if (subject->pipe.form == PIPE_FIFO)
			worker_pipe_unlink(&subject->pipe); /* the worker has opened both */
		return true;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		ev_io_stop(subject_loop(subject), &subject->readable);
		subject->has_ended = true;
		notice_loss(subject);
	}
	return false;
}

static void on_readable(struct ev_loop *loop, ev_io *io, int events)
{
	loop_keep_watching(loop, io, events);
	read_pipe(io->data);
}

static void close_stream(struct subject *subject, struct subject_stream *stream)
{
	if (stream->fd >= 0)
		ev_io_stop(subject_loop(subject), &stream->io);
	descriptor_close(&stream->fd);
}

/* bytes: at most SUBJECT_KEPT. */
static void keep_bytes(struct buf *kept, struct text bytes, bool is_end_kept)
{
	size_t all = buf_len(kept) + bytes.len;
	size_t excess = all > SUBJECT_KEPT ? all - SUBJECT_KEPT : 0;
	if (is_end_kept)
		buf_consume(kept, excess);
	else
		bytes.len -= excess;
	buf_append(kept, bytes.ptr, bytes.len);
}

/* False: nothing more is there now. */
static bool read_stream(struct subject *subject, struct subject_stream *stream)
{
	char bytes[SUBJECT_KEPT];
	if (stream->fd < 0)
		return false;
	ssize_t n = read(stream->fd, bytes, sizeof bytes);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		close_stream(subject, stream);
	if (n <= 0)
		return false;
	keep_bytes(&stream->kept, text_of(bytes, (size_t)n), stream == &subject->error);
	stream->bytes += (uint64_t)n;
	if (stream->bytes > FLOOD_SIZE)
		fault_set(&subject->fault, FAULT_FLOOD, TEXT_NONE,
			"more than 16 MiB on standard %s",
			stream == &subject->output ? "output" : "error");
	return true;
}

static void on_stream(struct ev_loop *loop, ev_io *io, int events)
{
	loop_keep_watching(loop, io, events);
	read_stream(io->data, CONTAINER_OF(io, struct subject_stream, io));
}

/* ---------- what goes out ---------- */

static void write_allowed(struct subject *subject)
{
	struct text bytes = buf_text(&subject->unsent);
	if (bytes.len > subject->allowed)
		bytes.len = subject->allowed;
	if (bytes.len == 0 || subject->pipe.output < 0 || subject->is_unheard) {
		ev_io_stop(subject_loop(subject), &subject->writable);
		return;
	}
	struct iovec part = {(void *)(uintptr_t)bytes.ptr, bytes.len};
	ssize_t n = worker_pipe_write(&subject->pipe, &part, 1);
	if (n < 0 && errno != EAGAIN && errno != EINTR && errno != ENOBUFS && errno != ENOMEM) {
		subject->is_unheard = true;
		notice_loss(subject);
		ev_io_stop(subject_loop(subject), &subject->writable);
	} else if (n > 0) {
		buf_consume(&subject->unsent, (size_t)n);
		subject->allowed -= (size_t)n;
	}
}

static void on_writable(struct ev_loop *loop, ev_io *io, int events)
{
	loop_keep_watching(loop, io, events);
	write_allowed(io->data);
}

void subject_send(struct subject *subject, size_t bytes)
{
	subject->allowed += bytes;
	if (subject->pipe.output >= 0 && !subject->is_unheard)
		ev_io_start(subject_loop(subject), &subject->writable);
}

/* ---------- waiting ---------- */

static void on_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop, (void)timer, (void)events;
}

/* One turn of the loop, of at most span. */
void subject_run_once(struct subject *subject, mtime span)
{
	loop_start_timer(subject_loop(subject), &subject->tick, span);
	ev_run(subject_loop(subject), EVRUN_ONCE);
	ev_timer_stop(subject_loop(subject), &subject->tick);
}

bool subject_fail_by_half_frame(struct subject *subject, const char *until, const char *what)
{
	struct text left = buf_text(&subject->received);
	if (left.len < WIRE_LENGTH_BYTES)
		return fault_set(&subject->fault, FAULT_HALF_FRAME, left,
			"%zu of the 4 bytes of a length, %s %s", left.len, until, what);
	return fault_set(&subject->fault, FAULT_HALF_FRAME, left,
		"%zu of the %zu bytes of a frame, %s %s", left.len,
		WIRE_LENGTH_BYTES + (size_t)wire_get_length((const uint8_t *)left.ptr), until,
		what);
}

static bool fail_by_exit(struct subject *subject)
{
	char how[EXIT_TEXT_SIZE];
	exit_text(&subject->exit, NULL, how);
	if (subject->exit.kind == EXIT_NOT_STARTED)
		return fault_set(&subject->fault, FAULT_NOT_STARTED, TEXT_NONE, "%s", how);
	if (buf_len(&subject->received) > 0 && subject_first_frame(subject).len == 0)
		return subject_fail_by_half_frame(subject, "then", how);
	return fault_set(&subject->fault, FAULT_EXITED, TEXT_NONE, "%s", how);
}

/* The worker cannot do any more what is waited for. */
static bool fails_by_loss(struct subject *subject)
{
	if (subject->has_exited)
		return !fail_by_exit(subject);
	if (subject->noticed_at != 0 && clock_now() - subject->noticed_at > EXIT_MOMENT)
		return !fault_set(&subject->fault, FAULT_CLOSED, TEXT_NONE,
			"it closed the data pipe and lives");
	return false;
}

/* Run the loop until is_there says so. False: .fault is set, or the time is over. After status 205
 * the supervisor would kill the worker: nothing more is waited for. */
bool subject_wait_until(
	struct subject *subject, bool (*is_there)(struct subject *), mtime span, mtime turn)
{
	mtime end = clock_now() + span;
	if (subject->exchange.has_last)
		return fault_set(&subject->fault, FAULT_LAST, TEXT_NONE,
			"status 205 ended the worker before the check was over");
	/* is_there takes outputs, which may be wrong. */
	while (!is_there(subject) && subject->fault.kind == FAULT_NONE) {
		mtime left = end - clock_now();
		if (left <= 0 || fails_by_loss(subject))
			return false;
		if (subject->noticed_at != 0)
			turn = LOOK_AGAIN;
		subject_run_once(subject, left < turn ? left : turn);
	}
	return subject->fault.kind == FAULT_NONE;
}

/* ---------- start ---------- */

static void on_exit_of_subject(void *ctx, pid_t pid, struct exit_info exit)
{
	struct subject *subject = ctx;
	guard_remove(subject->setup->tools.guard, pid);
	subject->has_exited = true;
	child_start_ended(&subject->start, &exit);
	subject->exit = exit;
	/* What it wrote before; a process that it left may write on for ever. */
	for (size_t left = subject->is_connected && !subject->has_ended
				   ? descriptor_waiting(subject->pipe.input) / READ_SIZE + 1
				   : 0;
		left > 0 && read_pipe(subject); left--)
		;
	while (subject->fault.kind == FAULT_NONE && read_stream(subject, &subject->output))
		;
	while (subject->fault.kind == FAULT_NONE && read_stream(subject, &subject->error))
		;
}

static void watch(struct subject *subject, ev_io *io,
	void (*on_event)(struct ev_loop *, ev_io *, int), int fd, int events)
{
	ev_io_init(io, on_event, fd, events);
	io->data = subject;
	if (events == EV_READ)
		ev_io_start(subject_loop(subject), io);
}

static void connect_subject(struct subject *subject)
{
	size_t frame = subject->setup->config.task.frame_limit + WIRE_LENGTH_BYTES;
	pid_t peer = 0;
	if (subject->is_connected)
		return;
	if (ev_is_active(&subject->connecting))
		ev_io_stop(subject_loop(subject), &subject->connecting);
	enum rc rc = worker_pipe_connect(&subject->pipe, subject->pid, frame, &peer);
	if (rc == RC_OK) {
		subject->is_connected = true;
		watch(subject, &subject->readable, on_readable, subject->pipe.input, EV_READ);
		watch(subject, &subject->writable, on_writable, subject->pipe.output, EV_WRITE);
		return;
	}
	if (rc == RC_REFUSED)
		fault_set(&subject->fault, FAULT_REFUSED, TEXT_NONE,
			"process %d connected, which is of another session or user", (int)peer);
	if (subject->pipe.waiting >= 0)
		ev_io_start(subject_loop(subject), &subject->connecting);
}

static void on_connecting(struct ev_loop *loop, ev_io *io, int events)
{
	loop_keep_watching(loop, io, events);
	connect_subject(io->data);
}

void subject_init(struct subject *subject, const struct check_setup *setup, uint64_t first_id)
{
	*subject = (struct subject){.setup = setup,
		.control = -1,
		.output.fd = -1,
		.error.fd = -1,
		.exit_wait = setup->wait};
	child_start_init(&subject->start);
	exchange_init(&subject->exchange, setup->config.concurrency, first_id);
	worker_pipe_init(&subject->pipe, setup->config.pipe, setup->tools.rundir, NULL);
	ev_timer_init(&subject->tick, on_tick, 0, 0);
	buf_init(&subject->unsent, SIZE_MAX);
	buf_init(
		&subject->received, setup->config.task.frame_limit + WIRE_LENGTH_BYTES + READ_SIZE);
	buf_init(&subject->output.kept, SUBJECT_KEPT);
	buf_init(&subject->error.kept, SUBJECT_KEPT);
}

static void open_stream(struct subject *subject, struct subject_stream *stream, int fd)
{
	stream->fd = fd;
	watch(subject, &stream->io, on_stream, fd, EV_READ);
}

bool subject_start(struct subject *subject)
{
	const struct runtime_shared *tools = &subject->setup->tools;
	const struct launch request = {.config = &subject->setup->config,
		.reaper = tools->reaper,
		.guard = tools->guard,
		.rundir = tools->rundir,
		.strays = tools->strays,
		.pipe = &subject->pipe,
		.life = &subject->life,
		.on_exit = on_exit_of_subject,
		.ctx = subject};
	struct spawned child;
	if (!launch_worker(&request, &child, &subject->exit))
		return fail_by_exit(subject);
	subject->is_started = true;
	subject->pid = child.pid;
	subject->control = child.control;
	child_start_watch(&subject->start, subject_loop(subject), child.start, NULL, NULL);
	open_stream(subject, &subject->output, child.output);
	open_stream(subject, &subject->error, child.error);
	return true;
}

static bool is_connected(struct subject *subject)
{
	if (subject->pipe.form == PIPE_FIFO)
		connect_subject(subject);
	return subject->is_connected;
}

bool subject_give_address(struct subject *subject, const char *lines_behind)
{
	char lines[RUNDIR_PATH_BYTES + 64];
	snprintf(lines, sizeof lines, "%s\n%s", worker_pipe_address(&subject->pipe), lines_behind);
	if (subject->pipe.waiting >= 0)
		watch(subject, &subject->connecting, on_connecting, subject->pipe.waiting, EV_READ);
	/* A worker that has gone is noticed by its exit. */
	ssize_t n = write(subject->control, lines, strlen(lines));
	(void)n;
	if (subject_wait_until(subject, is_connected, subject->setup->wait, LOOK_AGAIN))
		return true;
	return fault_set(&subject->fault, FAULT_NOT_CONNECTED, TEXT_NONE,
		"no connection within %.1f s", subject_seconds(subject->setup->wait));
}

/* ---------- the end ---------- */

void subject_last_lines(const struct subject *subject, struct last_lines *ret)
{
	struct text rest = buf_text(&subject->error.kept), lines[SUBJECT_LINES];
	ret->count = 0;
	while (rest.len > 0 && ret->count < SUBJECT_LINES) {
		const char *newline = memrchr(rest.ptr, '\n', rest.len);
		size_t start = newline ? (size_t)(newline - rest.ptr) + 1 : 0;
		if (start < rest.len)
			lines[ret->count++] = text_of(rest.ptr + start, rest.len - start);
		rest.len = newline ? start - 1 : 0;
	}
	for (size_t i = 0; i < ret->count; i++)
		utf8_copy_escaped(ret->line[i], SUBJECT_LINE_SIZE, lines[ret->count - 1 - i]);
}

void subject_end(struct subject *subject)
{
	struct ev_loop *loop = subject_loop(subject);
	mtime end = clock_now() + subject->setup->wait;
	if (subject->is_started && !subject->has_exited)
		subject_signal(subject, SIGKILL);
	while (subject->is_started && !subject->has_exited && clock_now() < end)
		subject_run_once(subject, end - clock_now());
	if (subject->is_started && !subject->has_exited) {
		reaper_forget(subject->setup->tools.reaper, subject->pid);
		guard_remove(subject->setup->tools.guard, subject->pid);
	}
	if (subject->is_started)
		descendants_kill(subject->setup->tools.descendants);
	strays_end(subject->setup->tools.strays, &subject->life);
	subject_close_pipe(subject);
	ev_io_stop(loop, &subject->connecting);
	descriptor_close(&subject->control);
	child_start_close(&subject->start);
	close_stream(subject, &subject->output);
	close_stream(subject, &subject->error);
	buf_release(&subject->unsent);
	buf_release(&subject->received);
	buf_release(&subject->output.kept);
	buf_release(&subject->error.kept);
}
