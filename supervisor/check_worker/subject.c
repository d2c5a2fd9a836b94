#include "check_worker/subject.h"

#include "base/utf8.h"
#include "message/answer.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/loop.h"
#include "os/proc_stat.h"
#include "process/descendants.h"
#include "process/guard.h"
#include "process/reaper.h"
#include "process/spawn.h"
#include "runtime/report.h"
#include "wire/frame.h"
#include "worker/launch.h"

#include <errno.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define READ_SIZE  65536
#define FLOOD_SIZE (UINT64_C(16) << 20)

/* How often to look at what the kernel does not report: a FIFO that was opened, bytes that were
 * read, a process that has gone. */
#define LOOK_AGAIN (2 * MTIME_MS)

/* A process that dies closes its pipe first and is reaped a moment later. */
#define EXIT_MOMENT (200 * MTIME_MS)

/* A worker may wait for several bytes before it reads one. */
#define BYTE_MOMENT (20 * MTIME_MS)
#define READ_MOMENT (200 * MTIME_MS)

/* Bytes of a long frame that are sent one at a time; the rest goes together. */
#define SLOW_BYTES 256

/* What a worker started may end by itself when the worker has gone. */
#define STRAYS_MOMENT MTIME_SECOND

static struct ev_loop *loop_of(const struct subject *subject)
{
	return subject->setup->tools.loop;
}

/* ---------- what comes ---------- */

/* FNV-1a. */
static uint64_t digest_of(struct text bytes)
{
	uint64_t digest = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < bytes.len; i++)
		digest = (digest ^ (uint8_t)bytes.ptr[i]) * UINT64_C(0x100000001b3);
	return digest;
}

static void keep_answer(struct subject *subject, int32_t status, struct text frame)
{
	if (subject->answer_count < SUBJECT_OUTPUTS)
		subject->answers[subject->answer_count] =
			(struct subject_output){status, digest_of(frame), fault_bytes(frame)};
	subject->answer_count++;
}

/* whole: with its length. */
static void take_frame(struct subject *subject, struct text whole)
{
	struct text frame = text_of(whole.ptr + WIRE_LENGTH_BYTES, whole.len - WIRE_LENGTH_BYTES);
	struct output *output;
	struct answer_fault fault;
	enum rc rc = answer_read(frame, &subject->setup->config.answer, &output, &fault);
	if (rc == RC_MEMORY) {
		fault_set(&subject->fault, FAULT_MEMORY, TEXT_NONE, "out of memory");
		return;
	}
	if (rc != RC_OK) {
		fault_set(&subject->fault, FAULT_BAD_OUTPUT, whole, "a bad output: %s", fault.what);
		return;
	}
	if (output->invalid != REASON_NONE)
		fault_set(&subject->fault, FAULT_UNPUBLISHABLE, whole,
			"status %d with a reply that cannot be published", (int)output->status);
	else if (output->status == STATUS_PROGRESS)
		subject->progress++;
	else
		keep_answer(subject, output->status, whole);
	output_free(output);
}

static void take_frames(struct subject *subject)
{
	size_t limit = subject->setup->config.task.frame_limit;
	for (;;) {
		struct text bytes = buf_text(&subject->received);
		if (bytes.len < WIRE_LENGTH_BYTES || subject->fault.kind != FAULT_NONE)
			return;
		uint32_t len = wire_get_length((const uint8_t *)bytes.ptr);
		if (len == 0 || len > limit) {
			fault_set(&subject->fault, FAULT_BAD_LENGTH, bytes,
				"a frame whose length is %u", (unsigned)len);
			return;
		}
		if (bytes.len - WIRE_LENGTH_BYTES < len)
			return;
		size_t whole = WIRE_LENGTH_BYTES + (size_t)len;
		take_frame(subject, text_of(bytes.ptr, whole));
		buf_consume(&subject->received, whole);
	}
}

static void notice_loss(struct subject *subject)
{
	if (subject->noticed_at == 0)
		subject->noticed_at = clock_now();
}

/* False: nothing more is there now. */
static bool read_pipe(struct subject *subject)
{
	uint8_t *place = buf_reserve(&subject->received, READ_SIZE);
	if (!place) {
		fault_set(&subject->fault, FAULT_MEMORY, TEXT_NONE, "out of memory");
		return false;
	}
	ssize_t n = read(subject->pipe.input, place, READ_SIZE);
	if (n > 0) {
		buf_commit(&subject->received, (size_t)n);
		if (subject->pipe.form == PIPE_FIFO)
			worker_pipe_unlink(&subject->pipe); /* the worker has opened both */
		take_frames(subject);
		return true;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		ev_io_stop(loop_of(subject), &subject->readable);
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
		ev_io_stop(loop_of(subject), &stream->io);
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
		ev_io_stop(loop_of(subject), &subject->writable);
		return;
	}
	struct iovec part = {(void *)(uintptr_t)bytes.ptr, bytes.len};
	ssize_t n = worker_pipe_write(&subject->pipe, &part, 1);
	if (n < 0 && errno != EAGAIN && errno != EINTR && errno != ENOBUFS && errno != ENOMEM) {
		subject->is_unheard = true;
		notice_loss(subject);
		ev_io_stop(loop_of(subject), &subject->writable);
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
		ev_io_start(loop_of(subject), &subject->writable);
}

/* ---------- waiting ---------- */

static void on_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop, (void)timer, (void)events;
}

/* One turn of the loop, of at most span. */
static void run_once(struct subject *subject, mtime span)
{
	loop_start_timer(loop_of(subject), &subject->tick, span);
	ev_run(loop_of(subject), EVRUN_ONCE);
	ev_timer_stop(loop_of(subject), &subject->tick);
}

static bool fail_by_half_frame(struct subject *subject, const char *until, const char *what)
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
	if (buf_len(&subject->received) > 0)
		return fail_by_half_frame(subject, "then", how);
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

/* Run the loop until is_there says so. False: .fault is set, or the time is over. */
static bool wait_until(
	struct subject *subject, bool (*is_there)(struct subject *), mtime span, mtime turn)
{
	mtime end = clock_now() + span;
	while (subject->fault.kind == FAULT_NONE && !is_there(subject)) {
		mtime left = end - clock_now();
		if (left <= 0 || fails_by_loss(subject))
			return false;
		if (subject->noticed_at != 0)
			turn = LOOK_AGAIN;
		run_once(subject, left < turn ? left : turn);
	}
	return subject->fault.kind == FAULT_NONE;
}

static double seconds(mtime span)
{
	return (double)span / MTIME_SECOND;
}

/* ---------- start ---------- */

static void on_exit_of_subject(void *ctx, pid_t pid, struct exit_info exit)
{
	struct subject *subject = ctx;
	struct exit_info failure;
	guard_remove(subject->setup->tools.guard, pid);
	subject->has_exited = true;
	if (subject->start >= 0 && spawn_outcome(subject->start, &failure) == SPAWN_FAILED)
		subject->exit = failure;
	if (subject->exit.kind == EXIT_NONE)
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

/* on_exit_of_subject reads a failure as well: either may come first. */
static void on_started(struct ev_loop *loop, ev_io *io, int events)
{
	struct subject *subject = io->data;
	struct exit_info failure;
	loop_keep_watching(loop, io, events);
	enum spawn_outcome outcome = spawn_outcome(subject->start, &failure);
	if (outcome == SPAWN_PENDING)
		return;
	ev_io_stop(loop, io);
	descriptor_close(&subject->start);
	if (outcome == SPAWN_FAILED)
		subject->exit = failure;
}

static void watch(struct subject *subject, ev_io *io,
	void (*on_event)(struct ev_loop *, ev_io *, int), int fd, int events)
{
	ev_io_init(io, on_event, fd, events);
	io->data = subject;
	if (events == EV_READ)
		ev_io_start(loop_of(subject), io);
}

static void connect_subject(struct subject *subject)
{
	size_t frame = subject->setup->config.task.frame_limit + WIRE_LENGTH_BYTES;
	pid_t peer = 0;
	if (subject->is_connected)
		return;
	if (ev_is_active(&subject->connecting))
		ev_io_stop(loop_of(subject), &subject->connecting);
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
		ev_io_start(loop_of(subject), &subject->connecting);
}

static void on_connecting(struct ev_loop *loop, ev_io *io, int events)
{
	loop_keep_watching(loop, io, events);
	connect_subject(io->data);
}

void subject_init(struct subject *subject, const struct check_setup *setup)
{
	*subject = (struct subject){
		.setup = setup, .control = -1, .start = -1, .output.fd = -1, .error.fd = -1};
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
	subject->start = child.start;
	watch(subject, &subject->started, on_started, child.start, EV_READ);
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
	if (wait_until(subject, is_connected, subject->setup->wait, LOOK_AGAIN))
		return true;
	return fault_set(&subject->fault, FAULT_NOT_CONNECTED, TEXT_NONE,
		"no connection within %.1f s", seconds(subject->setup->wait));
}

/* ---------- steps ---------- */

static bool never(struct subject *subject)
{
	(void)subject;
	return false;
}

bool subject_pause(struct subject *subject, mtime span)
{
	(void)wait_until(subject, never, span, span);
	return subject->fault.kind == FAULT_NONE;
}

bool subject_write_line(struct subject *subject, const char *line)
{
	char bytes[64];
	int len = snprintf(bytes, sizeof bytes, "%s\n", line);
	ssize_t n = write(subject->control, bytes, (size_t)len);
	(void)n; /* a worker that has gone is noticed by its exit */
	return true;
}

/* Bytes that the worker has not read; an approximation above 0. */
static int unread(const struct subject *subject)
{
	int bytes = 0;
	if (subject->pipe.output < 0)
		return 0;
	if (ioctl(subject->pipe.output, subject->pipe.form == PIPE_FIFO ? FIONREAD : SIOCOUTQ,
		    &bytes) < 0)
		return 0;
	return bytes;
}

static bool has_read_all(struct subject *subject)
{
	return (subject->allowed == 0 && unread(subject) == 0) ||
	       subject->answer_count > subject->taken;
}

bool subject_wait_read(struct subject *subject)
{
	if (wait_until(subject, has_read_all, subject->setup->wait, LOOK_AGAIN))
		return true;
	return fault_set(&subject->fault, FAULT_NOT_READ, TEXT_NONE,
		"what was sent is not read within %.1f s", seconds(subject->setup->wait));
}

static bool is_sent_and_read(struct subject *subject)
{
	return subject->is_unheard || (subject->allowed == 0 && unread(subject) == 0);
}

void subject_give_time(struct subject *subject)
{
	(void)wait_until(subject, is_sent_and_read, READ_MOMENT, LOOK_AGAIN / 10);
}

bool subject_send_slowly(struct subject *subject)
{
	for (int sent = 0; sent < SLOW_BYTES && buf_len(&subject->unsent) > 0; sent++) {
		subject_send(subject, 1);
		if (!wait_until(subject, is_sent_and_read, BYTE_MOMENT, LOOK_AGAIN / 10) &&
			(subject->fault.kind != FAULT_NONE || subject->has_exited))
			break;
	}
	subject_send(subject, buf_len(&subject->unsent) - subject->allowed);
	return subject->fault.kind == FAULT_NONE;
}

static bool has_answer(struct subject *subject)
{
	return subject->answer_count > subject->taken;
}

bool subject_wait_answer(struct subject *subject)
{
	double span = seconds(subject->setup->wait);
	uint64_t progress = subject->progress;
	if (wait_until(subject, has_answer, subject->setup->wait, subject->setup->wait)) {
		subject->taken++;
		return true;
	}
	if (buf_len(&subject->received) > 0)
		return fail_by_half_frame(subject, "no more within",
			span_text(subject->setup->wait, (char[SPAN_TEXT_SIZE]){0}));
	if (subject->allowed > 0)
		return fault_set(&subject->fault, FAULT_NOT_READ, TEXT_NONE,
			"no answer within %.1f s, and %zu bytes of the task are not read", span,
			subject->allowed);
	if (subject->progress > progress)
		return fault_set(&subject->fault, FAULT_ONLY_PROGRESS, TEXT_NONE,
			"%llu times progress and no answer within %.1f s",
			(unsigned long long)(subject->progress - progress), span);
	return fault_set(
		&subject->fault, FAULT_NO_ANSWER, TEXT_NONE, "no answer within %.1f s", span);
}

static bool is_written(struct subject *subject)
{
	return subject->allowed == 0 || subject->is_unheard;
}

bool subject_shut(struct subject *subject)
{
	double span = seconds(subject->setup->wait);
	if (!wait_until(subject, is_written, subject->setup->wait, subject->setup->wait))
		return fault_set(&subject->fault, FAULT_NOT_READ, TEXT_NONE,
			"%zu bytes of the task are not read within %.1f s", subject->allowed, span);
	ev_io_stop(loop_of(subject), &subject->writable);
	worker_pipe_shut(&subject->pipe);
	return true;
}

void subject_close_pipe(struct subject *subject)
{
	if (subject->is_connected) {
		ev_io_stop(loop_of(subject), &subject->readable);
		ev_io_stop(loop_of(subject), &subject->writable);
	}
	worker_pipe_close(&subject->pipe);
	subject->has_ended = true;
}

void subject_close_control(struct subject *subject)
{
	descriptor_close(&subject->control);
}

void subject_signal(struct subject *subject, int number)
{
	if (!subject->is_started || subject->has_exited)
		return;
	if (kill(-subject->pid, number) < 0 && errno == ESRCH)
		kill(subject->pid, number);
}

static bool has_exited(struct subject *subject)
{
	subject->noticed_at = 0; /* to close the pipe is right now */
	return subject->has_exited;
}

bool subject_wait_exit(struct subject *subject)
{
	if (wait_until(subject, has_exited, subject->setup->wait, subject->setup->wait))
		return true;
	return fault_set(&subject->fault, FAULT_STAYS, TEXT_NONE, "it still runs after %.1f s",
		seconds(subject->setup->wait));
}

/* ---------- what is left ---------- */

/* The first process that is left, and how many there are. */
static size_t count_left(const struct subject *subject, pid_t *ret_first)
{
	struct descendants *below = subject->setup->tools.descendants;
	size_t count, left = 0;
	descendants_look(below);
	count = descendants_count(below);
	for (size_t i = 0; i < count; i++) {
		struct proc_stat stat;
		pid_t pid = descendants_pid(below, i);
		if (!proc_stat_read(pid, &stat) || stat.state == 'Z')
			continue;
		if (left++ == 0)
			*ret_first = pid;
	}
	return left;
}

static void read_program(pid_t pid, char ret[32])
{
	char path[32], name[32] = "";
	snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
	FILE *file = fopen(path, "re");
	if (file && !fgets(name, sizeof name, file))
		*name = '\0';
	if (file)
		fclose(file);
	name[strcspn(name, "\n")] = '\0';
	utf8_copy_escaped(ret, 32, text_from(name));
}

bool subject_leaves_none(struct subject *subject)
{
	mtime end = clock_now() + STRAYS_MOMENT;
	pid_t first = 0;
	size_t left;
	while ((left = count_left(subject, &first)) > 0 && clock_now() < end)
		run_once(subject, 10 * LOOK_AGAIN);
	if (left == 0)
		return true;
	char program[32];
	read_program(first, program);
	return fault_set(&subject->fault, FAULT_STRAYS, TEXT_NONE,
		"%zu process%s left behind, the first is %d (%s)", left, left == 1 ? "" : "es",
		(int)first, program);
}

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
	struct ev_loop *loop = loop_of(subject);
	mtime end = clock_now() + subject->setup->wait;
	if (subject->is_started && !subject->has_exited)
		subject_signal(subject, SIGKILL);
	while (subject->is_started && !subject->has_exited && clock_now() < end)
		run_once(subject, end - clock_now());
	if (subject->is_started && !subject->has_exited) {
		reaper_forget(subject->setup->tools.reaper, subject->pid);
		guard_remove(subject->setup->tools.guard, subject->pid);
	}
	if (subject->is_started)
		descendants_kill(subject->setup->tools.descendants);
	strays_end(subject->setup->tools.strays, &subject->life);
	subject_close_pipe(subject);
	ev_io_stop(loop, &subject->connecting);
	ev_io_stop(loop, &subject->started);
	descriptor_close(&subject->control);
	descriptor_close(&subject->start);
	close_stream(subject, &subject->output);
	close_stream(subject, &subject->error);
	buf_release(&subject->unsent);
	buf_release(&subject->received);
	buf_release(&subject->output.kept);
	buf_release(&subject->error.kept);
}
