#include "worker_internal.h"

#include "task.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* While tasks begin, their answers are collected, so that one call writes many of them. They are
 * written at the end of the turn, or earlier: at so many bytes, or when the first is so old. */
#define FLUSH_SIZE     (64u << 10)
#define FLUSH_AFTER_US 1000

/* The data pipe is first. poll checks them in this order, so when it reports a task it also reports
 * every control line that was written before it, and no line can reach the wrong task. */
enum { FD_IN, FD_CONTROL, FD_OUT };

int64_t worker_now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Without it the operator would see only an exit. */
void worker_report(const char *what, const char *why)
{
	fprintf(stderr, "wpool worker: %s: %s, exiting\n", what, why);
}

unsigned worker_concurrency(void)
{
	const char *text = getenv("WPOOL_CONCURRENCY");
	char *end, what[80];
	if (!text)
		return 1;
	unsigned long number = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && number >= 1 && number <= CONCURRENCY_MAX)
		return (unsigned)number;
	snprintf(what, sizeof what, "WPOOL_CONCURRENCY is '%.32s'", text);
	worker_report(what, "not a number from 1 to 10000");
	return 0;
}

void worker_break(struct wpool_worker *worker, const char *what, const char *why)
{
	if (!worker->is_broken)
		worker_report(what, why);
	worker->is_broken = true;
}

/* ---------- start and end ---------- */

static struct wpool_worker *allocate(const struct worker_mode *mode, unsigned concurrency,
	wpool_on_event *on_event, void *context)
{
	struct wpool_worker *worker = calloc(1, sizeof *worker);
	if (!worker)
		return NULL;
	worker->mode = *mode;
	worker->concurrency = concurrency;
	if (worker->mode.open_max == 0)
		worker->mode.open_max = worker->concurrency;
	if (!open_tasks_init(&worker->open, worker->concurrency)) {
		free(worker);
		return NULL;
	}
	worker->on_event = on_event;
	worker->context = context;
	worker->control.fd = -1;
	worker->pipe = (struct data_pipe){-1, -1};
	pthread_mutex_init(&worker->open_lock, NULL);
	pthread_mutex_init(&worker->write_lock, NULL);
	atomic_init(&worker->references, 1);
	return worker;
}

void worker_ref(struct wpool_worker *worker)
{
	atomic_fetch_add(&worker->references, 1);
}

void worker_unref(struct wpool_worker *worker)
{
	if (atomic_fetch_sub(&worker->references, 1) != 1)
		return;
	open_tasks_release(&worker->open);
	pthread_mutex_destroy(&worker->open_lock);
	pthread_mutex_destroy(&worker->write_lock);
	free(worker);
}

static bool connect_worker(struct wpool_worker *worker)
{
	char address[CONTROL_LINE_MAX];
	if (control_init(&worker->control) < 0)
		worker_report("cannot use standard input", strerror(errno));
	else if (!control_read_address(&worker->control, address))
		worker_report("no address of a data pipe on standard input",
			"this program is to be started by wpool serve");
	else if (data_pipe_open(&worker->pipe, address) < 0)
		worker_report(address, strerror(errno));
	else
		return true;
	return false;
}

struct wpool_worker *worker_open(
	const struct worker_mode *mode, wpool_on_event *on_event, void *context)
{
	unsigned concurrency = worker_concurrency();
	if (concurrency == 0)
		return NULL;
	struct wpool_worker *worker = allocate(mode, concurrency, on_event, context);
	if (!worker) {
		worker_report("cannot start", "out of memory");
		return NULL;
	}
	if (!connect_worker(worker)) {
		wpool_worker_close(worker);
		return NULL;
	}
	return worker;
}

struct wpool_worker *wpool_worker_open(wpool_on_event *on_event, void *context)
{
	return worker_open(&(struct worker_mode){0}, on_event, context);
}

/* A task that the user keeps also keeps the worker's memory. */
void wpool_worker_close(struct wpool_worker *worker)
{
	if (!worker)
		return;
	atomic_store(&worker->is_gone, true);
	atomic_store(&worker->write_error, ENOTCONN);
	for (size_t i = 0; i <= worker->open.mask; i++)
		while (worker->open.buckets[i])
			worker_close_task(worker, worker->open.buckets[i]);
	data_pipe_close(&worker->pipe);
	control_release(&worker->control);
	frames_release(&worker->frames);
	buffer_release(&worker->unsent);
	worker_unref(worker);
}

/* ---------- events ---------- */

static void emit_event(struct wpool_worker *worker, enum wpool_event event, struct wpool_task *task)
{
	worker->on_event(worker, event, task, worker->context);
}

static void shut_down(struct wpool_worker *worker)
{
	if (atomic_exchange(&worker->is_over, true))
		return;
	emit_event(worker, WPOOL_EVENT_SHUTDOWN, NULL);
}

/* The caller has a reference to the task, because the callback may answer it. */
static void pass_requests(struct wpool_worker *worker, struct wpool_task *task, unsigned requests)
{
	atomic_fetch_or(&task->requests, requests);
	if (requests & REQUEST_CONTEXT_SWITCH && !atomic_load(&task->answered))
		emit_event(worker, WPOOL_EVENT_CONTEXT_SWITCH, task);
	if (requests & REQUEST_CANCEL && !atomic_load(&task->answered))
		emit_event(worker, WPOOL_EVENT_CANCEL, task);
}

static void pass_requests_by_id(struct wpool_worker *worker, uint64_t id, unsigned requests)
{
	pthread_mutex_lock(&worker->open_lock);
	struct wpool_task *task = open_tasks_find(&worker->open, id);
	if (task)
		wpool_task_ref(task);
	else
		open_tasks_request_early(&worker->open, id, requests);
	pthread_mutex_unlock(&worker->open_lock);
	if (!task)
		return;
	pass_requests(worker, task, requests);
	wpool_task_unref(task);
}

/* Of many tasks some may still be in the pipe: read_rest reads them first. */
static void obey_quit(struct wpool_worker *worker)
{
	worker->has_quit = true;
	if (worker->concurrency == 1)
		shut_down(worker);
}

static void obey_lines(struct wpool_worker *worker)
{
	struct control_line line;
	while (control_next(&worker->control, &line)) {
		if (line.kind == CONTROL_QUIT)
			obey_quit(worker);
		else
			pass_requests_by_id(worker, line.task_id,
				line.kind == CONTROL_CANCEL ? REQUEST_CANCEL
							    : REQUEST_CONTEXT_SWITCH);
	}
	if (worker->control.closed) {
		atomic_store(&worker->is_gone, true);
		shut_down(worker);
	}
}

void worker_look(struct wpool_worker *worker)
{
	while (control_is_readable(&worker->control)) {
		control_read(&worker->control);
		obey_lines(worker);
	}
}

/* ---------- writing ---------- */

int worker_write(struct wpool_worker *worker, const void *body, size_t len)
{
	struct buffer *unsent = &worker->unsent;
	bool waits = worker->mode.writes_at_once;
	size_t size = buffer_size(unsent);
	if (!waits && len > 0 && !buffer_reserve(unsent, len))
		return ENOMEM;
	struct iovec parts[] = {
		{unsent->bytes + unsent->start, size}, {(void *)(uintptr_t)body, len}};
	ssize_t put = data_pipe_write(&worker->pipe, parts, len > 0 ? 2 : 1, waits);
	if (put < 0) {
		atomic_store(&worker->write_error, errno);
		return errno;
	}
	size_t written = (size_t)put;
	if (!waits)
		worker->is_full = written < size + len;
	if (written < size)
		buffer_write(unsent, body, len);
	else if (written < size + len)
		buffer_write(unsent, (const char *)body + (written - size), size + len - written);
	buffer_drop(unsent, written < size ? written : size);
	return 0;
}

static void flush_unsent(struct wpool_worker *worker)
{
	if (!worker->mode.writes_at_once && buffer_size(&worker->unsent) > 0 &&
		!atomic_load(&worker->write_error))
		worker_write(worker, NULL, 0);
}

size_t wpool_worker_unsent(struct wpool_worker *worker)
{
	return worker->mode.writes_at_once ? 0 : buffer_size(&worker->unsent);
}

/* With one task at a time the next one begins only after the answer has been written. */
static void flush_unsent_if_due(struct wpool_worker *worker)
{
	size_t size = wpool_worker_unsent(worker);
	if (size > 0 && !worker->is_full &&
		(worker->mode.open_max == 1 || size >= FLUSH_SIZE ||
			worker_now_us() - worker->unsent_since_us >= FLUSH_AFTER_US))
		flush_unsent(worker);
}

void worker_close_task(struct wpool_worker *worker, struct wpool_task *task)
{
	pthread_mutex_lock(&worker->open_lock);
	open_tasks_remove(&worker->open, task);
	pthread_mutex_unlock(&worker->open_lock);
	wpool_task_unref(task);
}

/* ---------- reading ---------- */

static size_t count_open(struct wpool_worker *worker)
{
	pthread_mutex_lock(&worker->open_lock);
	size_t count = worker->open.count;
	pthread_mutex_unlock(&worker->open_lock);
	return count;
}

static bool can_begin_task(struct wpool_worker *worker)
{
	return !worker->is_broken && !atomic_load(&worker->is_over) &&
	       count_open(worker) < worker->mode.open_max &&
	       (worker->mode.open_max > 1 || wpool_worker_unsent(worker) == 0);
}

/* True: something has come. */
static bool read_frames(struct wpool_worker *worker)
{
	size_t capacity;
	uint8_t *bytes = frames_reserve(&worker->frames, &capacity);
	if (!bytes) {
		worker_break(worker, "cannot read a task", "out of memory");
		return false;
	}
	ssize_t got = data_pipe_read(&worker->pipe, bytes, capacity);
	if (got > 0)
		frames_added(&worker->frames, (size_t)got);
	else if (got < 0 && errno != EAGAIN)
		worker_break(worker, "cannot read a task", strerror(errno));
	else if (got == 0 && frames_is_cut(&worker->frames))
		worker_break(worker, "the data pipe ended", "in the middle of a frame");
	else if (got == 0)
		shut_down(worker);
	return got > 0;
}

static void begin_task(struct wpool_worker *worker, struct frame *frame)
{
	const char *wrong;
	struct wpool_task *task = task_new(worker, frame, &wrong);
	if (!task) {
		worker_break(worker, "a frame of the supervisor", wrong);
		return;
	}
	wpool_task_ref(task);
	pthread_mutex_lock(&worker->open_lock);
	unsigned requests = open_tasks_add(&worker->open, task);
	pthread_mutex_unlock(&worker->open_lock);
	atomic_fetch_or(&task->requests, requests);
	task_begin(task);
	emit_event(worker, WPOOL_EVENT_TASK, task);
	if (requests)
		pass_requests(worker, task, requests);
	wpool_task_unref(task);
}

static void begin_tasks(struct wpool_worker *worker)
{
	struct frame frame;
	enum frames_result result = FRAMES_MORE;
	while (can_begin_task(worker) &&
		(result = frames_next(&worker->frames, &frame)) == FRAMES_ONE) {
		begin_task(worker, &frame);
		flush_unsent_if_due(worker);
	}
	if (result == FRAMES_BAD_LENGTH)
		worker_break(worker, "a frame of the supervisor", "impossible length");
	if (result == FRAMES_NO_MEMORY)
		worker_break(worker, "cannot read a task", "out of memory");
}

static bool can_read(struct wpool_worker *worker)
{
	return !worker->is_broken && !atomic_load(&worker->is_over) &&
	       !frames_has_next(&worker->frames);
}

/* After __quit__: read what was sent before it, without a wait for more. */
static void read_rest(struct wpool_worker *worker)
{
	while (can_read(worker) && read_frames(worker))
		begin_tasks(worker);
	if (can_read(worker) && !frames_is_cut(&worker->frames))
		shut_down(worker);
}

/* ---------- turns ---------- */

size_t wpool_worker_fds(struct wpool_worker *worker, struct pollfd *ret_fds, size_t capacity)
{
	if (capacity < WPOOL_FDS)
		return 0;
	bool has_frame = frames_has_next(&worker->frames);
	bool is_socket = worker->pipe.in == worker->pipe.out;
	short in = has_frame || atomic_load(&worker->is_over) ? 0 : POLLIN;
	/* A task that waits in our memory begins when the pipe is writable: that is soon. */
	bool writes = wpool_worker_unsent(worker) > 0 || (has_frame && can_begin_task(worker));
	short out = writes ? POLLOUT : 0;
	if (is_socket) {
		in |= out;
		out = 0;
	}
	ret_fds[FD_IN] = (struct pollfd){.fd = in ? worker->pipe.in : -1, .events = in};
	ret_fds[FD_OUT] = (struct pollfd){.fd = out ? worker->pipe.out : -1, .events = out};
	ret_fds[FD_CONTROL] = (struct pollfd){-1, 0, 0};
	if (!worker->control.closed)
		ret_fds[FD_CONTROL] = (struct pollfd){.fd = worker->control.fd, .events = POLLIN};
	return WPOOL_FDS;
}

static int state_of(struct wpool_worker *worker)
{
	int error = atomic_load(&worker->write_error);
	if (error)
		worker_break(worker, "cannot answer", strerror(error));
	if (worker->is_broken)
		return -1;
	return !atomic_load(&worker->is_over) || count_open(worker) > 0 ||
	       wpool_worker_unsent(worker) > 0;
}

int worker_turn(struct wpool_worker *worker, int timeout_ms)
{
	struct pollfd fds[WPOOL_FDS];
	obey_lines(worker); /* that came with the address */
	if (state_of(worker) <= 0)
		return state_of(worker);
	size_t count = wpool_worker_fds(worker, fds, WPOOL_FDS);
	if (poll(fds, count, timeout_ms) < 0) {
		if (errno == EINTR)
			return 1;
		worker_break(worker, "cannot wait", strerror(errno));
		return -1;
	}
	if (fds[FD_CONTROL].revents) {
		control_read(&worker->control);
		obey_lines(worker);
	}
	worker->is_full = false;
	flush_unsent(worker);
	if (fds[FD_IN].revents & ~POLLOUT && can_read(worker))
		read_frames(worker);
	begin_tasks(worker);
	if (worker->has_quit)
		read_rest(worker);
	flush_unsent(worker);
	return state_of(worker);
}

int wpool_worker_step(struct wpool_worker *worker)
{
	return worker_turn(worker, 0);
}

unsigned wpool_worker_concurrency(const struct wpool_worker *worker)
{
	return worker->concurrency;
}
