#include "worker/worker_internal.h"

#include "base/crash_point.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/loop.h"
#include "os/oom_score.h"
#include "os/proc_usage.h"
#include "process/guard.h"
#include "process/reaper.h"
#include "process/spawn.h"
#include "wire/frame.h"
#include "worker/launch.h"
#include "worker/worker_environment.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RETRY_WAIT (10 * MTIME_MS)

/* How long to wait for SIGCHLD after an end of file. A process that dies closes its pipe first and
 * is reaped a moment later: a crash with its exit status, not a worker that closed its pipe. */
#define EXIT_WAIT (200 * MTIME_MS)

/* Have worker_look_again called after RETRY_WAIT. */
static void look_later(struct worker *worker)
{
	struct workers *workers = worker->workers;
	list_remove(&worker->later);
	list_append(&workers->later, &worker->later);
	if (!ev_is_active(&workers->tick))
		loop_start_timer(workers->loop, &workers->tick, RETRY_WAIT);
}

void worker_report(struct worker *worker, struct event *event)
{
	event->slot.slot = worker->slot;
	event->slot.life = worker->life;
	pool_step(worker->workers->pool, clock_now(), event);
}

struct log_origin worker_origin(const struct worker *worker)
{
	return (struct log_origin){.pool = worker->workers->config->pool,
		.slot = worker->slot,
		.pid = (int)worker->pid};
}

/* The state of a slot without a process. */
static void reset(struct worker *worker)
{
	worker->process = PROCESS_NONE;
	worker->input = INPUT_WAITING;
	worker->sending = SENDING_OPEN;
	worker->is_full = worker->has_logged_trouble = worker->has_logged_stdin = false;
	worker->exit = (struct exit_info){.kind = EXIT_NONE};
	worker->left = SIZE_MAX;
	incoming_forget(&worker->incoming);
	worker->open = 0;
	worker->is_behind = worker->has_begun = false;
	worker->control = -1;
}

void worker_init(struct worker *worker, struct workers *workers, uint16_t slot)
{
	const struct workers_config *config = workers->config;
	size_t frame = config->task.frame_limit + WIRE_LENGTH_BYTES;
	*worker = (struct worker){.workers = workers, .slot = slot};
	list_init(&worker->unsent);
	list_init(&worker->later);
	child_start_init(&worker->start);
	/* A frame of any size is accepted while the pipe is below its high mark. */
	outgoing_init(&worker->output, OUTPUT_HIGH + frame);
	incoming_init(&worker->incoming, frame + WORKER_READ);
	worker_pipe_init(&worker->pipe, config->pipe, workers->rundir, workers_owner(config));
	for (int stream = 0; stream < STREAM_COUNT; stream++)
		worker_log_init(&worker->logs[stream], workers->loop);
	reset(worker);
}

/* The kernel takes a line as a whole or not at all (PIPE_BUF). False: it was not written, and the
 * first such line of a life was logged. */
static bool write_control(struct worker *worker, const char *line)
{
	char bytes[RUNDIR_PATH_BYTES + 1];
	int len = snprintf(bytes, sizeof bytes, "%s\n", line);
	if (write(worker->control, bytes, (size_t)len) == len)
		return true;
	if (worker->has_logged_stdin)
		return false;
	worker->has_logged_stdin = true;
	log_line(LOG_WARN, worker_origin(worker),
		"cannot write the control line %s, and will not log it again: %s", line,
		errno == EAGAIN ? "its stdin is full, because it does not read it"
				: strerror(errno));
	return false;
}

/* ---------- tasks go out ---------- */

static void drop_output(struct worker *worker)
{
	ev_io_stop(worker->workers->loop, &worker->writable);
	list_remove(&worker->unsent);
	outgoing_drop(&worker->output);
}

static void report_writable(struct worker *worker, bool is_writable)
{
	if (worker->is_full != is_writable)
		return;
	worker->is_full = !is_writable;
	worker_report(worker,
		&(struct event){.kind = SLOT_WRITABLE, .slot = {.is_writable = is_writable}});
}

enum send_result workers_send(
	struct workers *workers, uint16_t slot, struct delivery *delivery, uint16_t attempt)
{
	const struct workers_config *config = workers->config;
	struct worker *worker = worker_at(workers, slot);
	if (worker->process != PROCESS_LIVES || worker->input != INPUT_OPEN ||
		worker->sending != SENDING_OPEN)
		return SEND_OK; /* SLOT_BROKEN or SLOT_GONE follows, and the task is retried */
	if (outgoing_len(&worker->output) > OUTPUT_HIGH)
		return SEND_NO_MEMORY;
	enum rc rc = outgoing_add(
		&worker->output, delivery, &config->task, attempt, config->hard_limit_ms);
	if (rc != RC_OK)
		return rc == RC_LIMIT ? SEND_TOO_LARGE : SEND_NO_MEMORY;
	if (worker->open++ == 0) {
		worker->is_behind = worker->has_begun = false;
		worker_log_begin(&worker->logs[STREAM_ERROR],
			worker->sole_turn == ev_iteration(workers->loop));
	}
	list_remove(&worker->unsent);
	list_append(&workers->unsent, &worker->unsent);
	return SEND_OK;
}

void worker_write(struct worker *worker)
{
	list_remove(&worker->unsent);
	struct iovec parts[OUTGOING_PARTS];
	int count = outgoing_parts(&worker->output, parts);
	if (count == 0 || worker->sending != SENDING_OPEN)
		return;
	ssize_t n = worker_pipe_write(&worker->pipe, parts, count);
	if (n < 0 && errno != EAGAIN && errno != EINTR && errno != ENOBUFS && errno != ENOMEM) {
		/* It has stopped reading. Its input shows whether it is broken or is dying, with
		 * its last answers in the pipe. */
		worker->sending = SENDING_LOST;
		drop_output(worker);
		look_later(worker);
		return;
	}
	if (n > 0)
		outgoing_consume(&worker->output, (size_t)n);
	bool is_throttled = worker->workers->config->is_throttled;
	size_t left = outgoing_len(&worker->output);
	if (left > 0)
		ev_io_start(worker->workers->loop, &worker->writable);
	else
		ev_io_stop(worker->workers->loop, &worker->writable);
	if (left > (is_throttled ? 0 : OUTPUT_HIGH))
		report_writable(worker, false);
	else if (left <= (is_throttled ? 0 : OUTPUT_LOW))
		report_writable(worker, true);
}

/* ---------- outputs come in ---------- */

static void stop_reading(struct worker *worker)
{
	struct workers *workers = worker->workers;
	ev_io_stop(workers->loop, &worker->readable);
	incoming_end(&worker->incoming);
	if (workers->stuck == worker)
		workers->stuck = NULL;
	worker->input = INPUT_DONE;
}

/* The pool owns the detail, which describes what may be unfinished. */
static void report_broken(struct worker *worker, const struct answer_fault *fault)
{
	stop_reading(worker);
	incoming_forget(&worker->incoming);
	drop_output(worker);
	worker_report(worker,
		&(struct event){.kind = SLOT_BROKEN,
			.slot = {.what = fault->what,
				.task_id = fault->task_id,
				.output = output_add_detail(NULL, text_from(fault->detail))}});
}

/* The worker closed its pipe, and lives on. */
static void report_closed(struct worker *worker)
{
	struct answer_fault fault = {.what = "closed its pipe"};
	incoming_end(&worker->incoming);
	if (incoming_describe(&worker->incoming, fault.detail))
		fault.what = "closed its pipe in the middle of a frame";
	report_broken(worker, &fault);
}

/* Memory is short: nothing is read until read_on has used what is there. */
static void pause_reading(struct worker *worker)
{
	ev_io_stop(worker->workers->loop, &worker->readable);
	look_later(worker);
}

/* Add the last stderr line to an answer that reports a failure. The order of answer and line is not
 * known: if another answer follows at once, the latest line belongs to that one. */
static struct output *add_stderr(struct worker *worker, struct output *output, bool is_last)
{
	struct worker_log *log = &worker->logs[STREAM_ERROR];
	struct text line;
	if (is_last) {
		worker_log_catch_up(log);
		line = worker_log_last_line(
			log, worker->is_behind, ev_iteration(worker->workers->loop));
	} else {
		line = worker_log_last_line_before(log);
	}
	return line.len > 0 ? output_add_stderr_line(output, line) : output;
}

/* is_last: no byte behind it was read yet. */
static enum rc handle_frame(
	struct worker *worker, struct text frame, bool is_last, struct answer_fault *ret_fault)
{
	struct output *output;
	enum rc rc = answer_read(frame, &worker->workers->config->answer, &output, ret_fault);
	if (rc != RC_OK)
		return rc;
	if (output->status >= STATUS_REJECTED)
		output = add_stderr(worker, output, is_last);
	if (output_ends_task(output)) {
		if (worker->open > 0)
			worker->open--;
		/* The next task has begun. Of several answers in one read only the last asks the
		 * kernel what stderr holds (handle_frames): no time passed between them. */
		worker->has_begun = worker->open > 0;
		if (worker->has_begun) {
			worker_log_pass(&worker->logs[STREAM_ERROR]);
			worker->is_behind = true;
		}
	}
	CRASH_POINT("answer-read");
	worker_report(worker, &(struct event){.kind = SLOT_OUTPUT,
				      .arrived_after = clock_arrived_after(),
				      .slot = {.output = output}});
	return RC_OK;
}

/* Handle all complete frames at the front of *bytes, and move *bytes past them. RC_MEMORY: call it
 * again for the first that is left. RC_MALFORMED: it was reported. */
static enum rc handle_frames(struct worker *worker, struct text *bytes)
{
	size_t limit = worker->workers->config->task.frame_limit;
	const char *start = buf_len(&worker->incoming.bytes) > 0 ? NULL : bytes->ptr;
	struct answer_fault fault;
	struct text frame;
	enum rc rc;
	while ((rc = incoming_first(*bytes, limit, &frame, &fault)) == RC_OK) {
		size_t used = WIRE_LENGTH_BYTES + frame.len;
		bool is_last = used == bytes->len;
		if (is_last && bytes->ptr == start)
			worker->sole_turn = ev_iteration(worker->workers->loop);
		rc = handle_frame(worker, frame, is_last, &fault);
		if (rc != RC_OK)
			break;
		*bytes = text_of(bytes->ptr + used, bytes->len - used);
	}
	if (worker->has_begun) {
		worker->has_begun = false;
		worker_log_begin(&worker->logs[STREAM_ERROR], false);
	}
	if (rc == RC_MALFORMED)
		report_broken(worker, &fault);
	return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* bytes: of the shared scratch. An unfinished frame is copied to .incoming. */
static void handle_scratch(struct worker *worker, struct text bytes)
{
	enum rc rc = handle_frames(worker, &bytes);
	if (rc == RC_MALFORMED)
		return;
	if (rc == RC_OK) {
		buf_append_text(&worker->incoming.bytes, bytes);
		if (!worker->incoming.bytes.failed)
			return;
		buf_clear(&worker->incoming.bytes);
	}
	worker->workers->stuck = worker;
	worker->workers->stuck_bytes = bytes;
	pause_reading(worker);
}

static void handle_incoming(struct worker *worker)
{
	struct text bytes = buf_text(&worker->incoming.bytes);
	size_t before = bytes.len;
	enum rc rc = handle_frames(worker, &bytes);
	if (rc == RC_MALFORMED)
		return;
	buf_consume(&worker->incoming.bytes, before - bytes.len);
	if (rc == RC_MEMORY)
		pause_reading(worker);
}

/* End of file. An unfinished frame is a protocol error only if the process lives on. */
static void end_input(struct worker *worker)
{
	if (worker->process == PROCESS_EXITED || worker->sending == SENDING_SHUT) {
		stop_reading(worker);
		return;
	}
	ev_io_stop(worker->workers->loop, &worker->readable);
	drop_output(worker);
	worker->input = INPUT_ENDED;
	worker->ended_at = clock_now();
	look_later(worker);
	report_writable(worker, false); /* so that no task is given to a dead worker */
}

void worker_read(struct worker *worker)
{
	struct workers *workers = worker->workers;
	size_t size = worker->left < WORKER_READ ? worker->left : WORKER_READ;
	bool is_frame_begun = buf_len(&worker->incoming.bytes) > 0;
	uint8_t *place = workers->scratch;
	if (worker->input != INPUT_OPEN || size == 0)
		return;
	if (workers->stuck) {
		pause_reading(worker);
		return;
	}
	/* Read behind the unfinished frame, so that no byte is copied. */
	if (is_frame_begun && !(place = buf_reserve(&worker->incoming.bytes, size))) {
		worker->incoming.bytes.failed = false;
		pause_reading(worker);
		return;
	}
	ssize_t n = read(worker->pipe.input, place, size);
	if (n <= 0) {
		if (n == 0 || (errno != EINTR && errno != EAGAIN))
			end_input(worker);
		else if (errno == EAGAIN && worker->process == PROCESS_EXITED)
			worker->left = 0;
		else if (errno == EAGAIN && worker->sending == SENDING_LOST)
			end_input(worker);
		return;
	}
	if (worker->left != SIZE_MAX)
		worker->left -= (size_t)n;
	if (worker->pipe.form == PIPE_FIFO)
		worker_pipe_unlink(&worker->pipe); /* the worker has opened both */
	if (is_frame_begun) {
		buf_commit(&worker->incoming.bytes, (size_t)n);
		handle_incoming(worker);
	} else {
		handle_scratch(worker, text_of(place, (size_t)n));
	}
}

/* Continue where memory was short. */
static void read_on(struct worker *worker)
{
	struct workers *workers = worker->workers;
	ev_io_start(workers->loop, &worker->readable);
	if (workers->stuck == worker) {
		workers->stuck = NULL;
		handle_scratch(worker, workers->stuck_bytes);
	} else if (buf_len(&worker->incoming.bytes) > 0) {
		handle_incoming(worker);
	}
}

/* ---------- the end ---------- */

/* Release what this life held. Its process has ended. */
static void clear(struct worker *worker)
{
	strays_end(worker->workers->strays, &worker->descendants);
	stop_reading(worker);
	drop_output(worker);
	list_remove(&worker->later);
	for (int stream = 0; stream < STREAM_COUNT; stream++)
		worker_log_release(&worker->logs[stream]);
	worker_pipe_close(&worker->pipe);
	descriptor_close(&worker->control);
	child_start_close(&worker->start);
	reset(worker);
}

/* The one that it was asked of may be gone by now. */
static const struct preload *asked_preload(const struct worker *worker)
{
	const struct workers *workers = worker->workers;
	bool is_next = workers->next_preload && worker->request.preload == workers->next_preload;
	return is_next ? workers->next_preload : workers->preload;
}

/* The event carries the last line that its task wrote to stderr, and what came of an unfinished
 * frame, if there is memory for it. */
static void report_gone(struct worker *worker)
{
	struct text line = worker->process == PROCESS_FAILED
				   ? preload_last_line(asked_preload(worker))
				   : worker_log_last_line(&worker->logs[STREAM_ERROR],
					     worker->is_behind, worker->exit_turn);
	struct output *last = line.len > 0 ? output_new(0) : NULL;
	char detail[FAULT_DETAIL_SIZE];
	if (last)
		last = output_add_stderr_line(last, line);
	if (incoming_describe(&worker->incoming, detail))
		last = output_add_detail(last, text_from(detail));
	struct event event = {.kind = SLOT_GONE, .slot = {.exit = worker->exit, .output = last}};
	clear(worker); /* first: the pool may start the next life from within */
	worker_report(worker, &event);
}

/* Called at the end of each callback. */
static void report_if_gone(struct worker *worker)
{
	if (worker->process != PROCESS_EXITED)
		return;
	/* An inactive watcher: memory was short, and whole frames may wait. */
	if (worker->left == 0 && ev_is_active(&worker->readable))
		stop_reading(worker);
	if (worker->input == INPUT_DONE && worker->logs[STREAM_OUTPUT].fd < 0 &&
		worker->logs[STREAM_ERROR].fd < 0)
		report_gone(worker);
}

static void on_exit_of_worker(void *ctx, pid_t pid, struct exit_info exit)
{
	struct worker *worker = ctx;
	launch_ended(
		worker->workers->guard, worker->workers->strays, &worker->descendants, pid, &exit);
	strays_end(worker->workers->strays, &worker->descendants);
	worker->process = PROCESS_EXITED;
	worker->exit_turn = ev_iteration(worker->workers->loop);
	child_start_ended(&worker->start, &exit);
	worker->exit = exit;
	if (exit.kind == EXIT_STATUS || exit.kind == EXIT_SIGNAL) /* its program has run */
		snprintf(worker->last_exit, sizeof worker->last_exit, LAST_EXIT_NAME "=%d %s %d",
			(int)pid, exit.kind == EXIT_SIGNAL ? "signal" : "exit status",
			(int)exit.number);
	drop_output(worker);
	/* Read only what is there now: a grandchild may hold the other end and never stop writing.
	 */
	if (worker->input == INPUT_OPEN) {
		worker->left = descriptor_waiting(worker->pipe.input);
		if (ev_is_active(&worker->readable))
			worker_read(worker);
	} else {
		stop_reading(worker);
	}
	worker_log_read_last(&worker->logs[STREAM_OUTPUT]);
	worker_log_read_last(&worker->logs[STREAM_ERROR]);
	report_if_gone(worker);
}

void worker_release(struct worker *worker)
{
	if (worker->process == PROCESS_ASKED)
		preload_cancel(&worker->request);
	if (worker->process == PROCESS_LIVES) {
		worker_signal(worker, SIGKILL);
		reaper_forget(worker->workers->reaper, worker->pid);
		guard_remove(worker->workers->guard, worker->pid);
	}
	clear(worker);
}

/* ---------- connecting ---------- */

static void on_readable(struct ev_loop *loop, ev_io *io, int events)
{
	struct worker *worker = io->data;
	loop_keep_watching(loop, io, events);
	worker_read(worker);
	report_if_gone(worker);
}

static void on_writable(struct ev_loop *loop, ev_io *io, int events)
{
	loop_keep_watching(loop, io, events);
	worker_write(io->data);
}

static void watch(struct worker *worker, ev_io *io,
	void (*on_event)(struct ev_loop *, ev_io *, int), int fd, int events)
{
	ev_io_init(io, on_event, fd, events);
	io->data = worker;
	if (events == EV_READ)
		ev_io_start(worker->workers->loop, io);
}

static void open_pipe(struct worker *worker)
{
	const struct rights *rights = worker->workers->config->rights;
	worker->input = INPUT_OPEN;
	if (rights && rights->nice != 0)
		spawn_set_session_priority(worker->pid);
	watch(worker, &worker->readable, on_readable, worker->pipe.input, EV_READ);
	watch(worker, &worker->writable, on_writable, worker->pipe.output, EV_WRITE);
	if (worker->sending == SENDING_SHUT)
		worker_pipe_shut(&worker->pipe); /* asked to quit before it came */
	else
		worker_report(
			worker, &(struct event){.kind = SLOT_READY,
					.slot = {.computed = proc_usage_computed(worker->pid)}});
}

static void connect_pipe(struct worker *worker)
{
	struct workers *workers = worker->workers;
	size_t frame = workers->config->task.frame_limit + WIRE_LENGTH_BYTES;
	pid_t peer = 0;
	/* Before the watched descriptor is closed. */
	ev_io_stop(workers->loop, &worker->readable);
	enum rc rc = worker_pipe_connect(&worker->pipe, worker->pid, frame, &peer);
	if (rc == RC_OK) {
		open_pipe(worker);
	} else if (rc != RC_REFUSED && rc != RC_NOT_FOUND) {
		/* Most likely there are no descriptors. The peer stays in the backlog; its watcher
		 * would only spin. */
		if (!worker->has_logged_trouble)
			log_line(LOG_WARN, worker_origin(worker),
				"cannot accept its connection: %s; retrying", strerror(errno));
		worker->has_logged_trouble = true;
		look_later(worker);
	} else {
		if (rc == RC_REFUSED)
			log_line(LOG_WARN, worker_origin(worker),
				"refused process %d at its pipe: of another user or session, or gone",
				(int)peer);
		if (worker->pipe.form == PIPE_FIFO)
			look_later(worker);
		else
			ev_io_start(workers->loop, &worker->readable);
	}
}

static void on_peer(struct ev_loop *loop, ev_io *io, int events)
{
	loop_keep_watching(loop, io, events);
	connect_pipe(io->data);
}

/* ---------- the start ---------- */

static void on_runs(void *ctx)
{
	const struct worker *worker = ctx;
	oom_score_raise(worker->pid);
}

static void on_log(struct ev_loop *loop, ev_io *io, int events)
{
	loop_keep_watching(loop, io, events);
	worker_log_read(CONTAINER_OF(io, struct worker_log, io));
	report_if_gone(io->data);
}

static void open_log(struct worker *worker, enum worker_stream stream, int fd)
{
	worker_log_open(&worker->logs[stream], stream, fd, worker_origin(worker),
		&worker->workers->gate, on_log, worker);
}

/* The process runs; all descriptors move in. */
static void begin(struct worker *worker, pid_t pid, int control, int output, int error)
{
	worker->process = PROCESS_LIVES;
	worker->pid = pid;
	worker->control = control;
	open_log(worker, STREAM_OUTPUT, output);
	open_log(worker, STREAM_ERROR, error);
	if (worker->pipe.waiting >= 0)
		watch(worker, &worker->readable, on_peer, worker->pipe.waiting, EV_READ);
	else
		look_later(
			worker); /* the kernel does not report when a FIFO's other end is opened */
	write_control(worker, worker_pipe_address(&worker->pipe));
}

static void fail_start(struct worker *worker, struct exit_info failure)
{
	worker->process = PROCESS_FAILED;
	worker->exit = failure;
	look_later(worker);
}

static char *last_exit_of(struct worker *worker)
{
	return *worker->last_exit ? worker->last_exit : NULL;
}

static struct launch launch_of(struct worker *worker)
{
	struct workers *workers = worker->workers;
	return (struct launch){.config = workers->config,
		.slot = worker->slot,
		.last_exit = last_exit_of(worker),
		.reaper = workers->reaper,
		.guard = workers->guard,
		.rundir = workers->rundir,
		.strays = workers->strays,
		.pipe = &worker->pipe,
		.life = &worker->descendants,
		.on_exit = on_exit_of_worker,
		.ctx = worker};
}

static void execute(struct worker *worker)
{
	const struct launch launch = launch_of(worker);
	struct spawned child;
	struct exit_info failure;
	if (!launch_worker(&launch, &child, &failure)) {
		fail_start(worker, failure);
		return;
	}
	begin(worker, child.pid, child.control, child.output, child.error);
	child_start_watch(&worker->start, worker->workers->loop, child.start, on_runs, worker);
}

static void on_forked(void *ctx, pid_t pid, const struct exit_info *failure)
{
	struct worker *worker = ctx;
	const struct launch launch = launch_of(worker);
	struct child_pipes *pipes = &worker->request.pipes;
	struct exit_info why = failure ? *failure : (struct exit_info){.kind = EXIT_NONE};
	if (!failure && launch_adopt(&launch, pid, &why))
		begin(worker, pid, child_pipes_take(pipes, CHILD_INPUT),
			child_pipes_take(pipes, CHILD_OUTPUT),
			child_pipes_take(pipes, CHILD_ERROR));
	else
		fail_start(worker, why);
}

static void ask_preload(struct worker *worker)
{
	const struct launch launch = launch_of(worker);
	struct exit_info failure;
	if (!launch_prepare(&launch, &failure)) {
		fail_start(worker, failure);
		return;
	}
	worker->process = PROCESS_ASKED;
	worker->request = (struct preload_request){.slot = worker->slot,
		.last_exit = last_exit_of(worker),
		.life = worker->descendants.number,
		.on_answer = on_forked,
		.ctx = worker};
	struct workers *workers = worker->workers;
	preload_fork(
		workers->next_preload ? workers->next_preload : workers->preload, &worker->request);
}

static void withdraw(struct worker *worker)
{
	preload_cancel(&worker->request);
	fail_start(worker, (struct exit_info){EXIT_NOT_STARTED, ECANCELED, "preload"});
}

/* ---------- requests of the pool ---------- */

void worker_start(struct worker *worker, uint32_t life)
{
	assert(worker->process == PROCESS_NONE);
	worker->life = life;
	worker->pid = 0;
	if (worker->workers->config->is_preloaded)
		ask_preload(worker);
	else
		execute(worker);
}

void worker_quit(struct worker *worker)
{
	if (worker->process == PROCESS_ASKED)
		withdraw(worker);
	if (worker->process != PROCESS_LIVES || worker->sending == SENDING_SHUT)
		return;
	write_control(worker, "__quit__");
	worker->sending = SENDING_SHUT;
	drop_output(worker);
	worker_pipe_shut(&worker->pipe);
	if (worker->input == INPUT_ENDED)
		stop_reading(worker);
}

bool worker_ask(struct worker *worker, enum task_request request, uint64_t task_id)
{
	static const char *const names[] = {
		[TASK_CONTEXT_SWITCH] = "__context_switch__", [TASK_CANCEL] = "__cancel__"};
	bool is_named = request == TASK_CANCEL || worker->workers->config->concurrency > 1;
	char line[64];
	if (worker->process != PROCESS_LIVES || worker->sending != SENDING_OPEN)
		return true; /* it is ending: its tasks are given to others */
	if (is_named && task_id > 0)
		snprintf(line, sizeof line, "%s %" PRIu64, names[request], task_id);
	else
		snprintf(line, sizeof line, "%s", names[request]);
	return write_control(worker, line);
}

void worker_signal(struct worker *worker, int number)
{
	if (worker->process == PROCESS_LIVES)
		spawn_signal(worker->pid, number);
	else if (worker->process == PROCESS_ASKED)
		withdraw(worker);
}

/* ---------- second looks ---------- */

void worker_look_again(struct worker *worker)
{
	if (worker->process == PROCESS_FAILED) {
		report_gone(worker);
		return;
	}
	switch (worker->input) {
	case INPUT_WAITING:
		connect_pipe(worker);
		break;
	case INPUT_OPEN:
		if (!ev_is_active(&worker->readable))
			read_on(worker);
		else if (worker->sending == SENDING_LOST)
			worker_read(worker);
		if (worker->input == INPUT_OPEN && worker->sending == SENDING_LOST)
			look_later(worker); /* until it is read to its end */
		break;
	case INPUT_ENDED:
		if (clock_now() - worker->ended_at < EXIT_WAIT)
			look_later(worker);
		else
			report_closed(worker);
		break;
	case INPUT_DONE:
		break;
	}
	report_if_gone(worker);
}
