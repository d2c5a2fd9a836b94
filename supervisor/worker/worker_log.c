#include "worker/worker_log.h"

#include "os/descriptors.h"
#include <errno.h>
#include <unistd.h>

/* Limits of a catch-up. */
#define CATCH_UP_READS 16
#define CATCH_UP_LINES 64
/* A worker that wrote nothing to stderr during so many tasks is silent. */
#define SILENT_TASKS 8

void worker_log_init(struct worker_log *log, struct ev_loop *loop)
{
	*log = (struct worker_log){.loop = loop, .fd = -1};
}

void worker_log_open(struct worker_log *log, enum worker_stream stream, int fd,
	struct log_origin origin, struct log_gate *gate,
	void (*on_readable)(struct ev_loop *, ev_io *, int), void *data)
{
	origin.stream = stream == STREAM_OUTPUT ? "stdout" : "stderr";
	lines_init(&log->lines, origin, gate, stream == STREAM_ERROR);
	log->fd = fd;
	log->left = SIZE_MAX;
	log->earlier = log->stale = 0;
	log->silent = 0;
	log->has_more = false;
	log->last_turn = log->caught_up_in = ev_iteration(log->loop) - 1;
	ev_io_init(&log->io, on_readable, fd, EV_READ);
	log->io.data = data;
	ev_io_start(log->loop, &log->io);
}

static void add_bytes(struct worker_log *log, struct text bytes)
{
	size_t stale = log->stale < bytes.len ? log->stale : bytes.len;
	log->last_turn = ev_iteration(log->loop);
	log->silent = 0;
	if (stale > 0) {
		lines_add(&log->lines, text_of(bytes.ptr, stale));
		log->stale -= stale;
		log->earlier = log->lines.kept;
	}
	if (bytes.len > stale) {
		log->has_more = true;
		lines_add(&log->lines, text_of(bytes.ptr + stale, bytes.len - stale));
	}
}

void worker_log_read(struct worker_log *log)
{
	char bytes[LOG_READ];
	size_t share = log->left < sizeof bytes ? log->left : sizeof bytes;
	ssize_t n = read(log->fd, bytes, share);
	bool is_last = log->left != SIZE_MAX;
	if (n > 0) {
		add_bytes(log, text_of(bytes, (size_t)n));
		log->left -= is_last ? (size_t)n : 0;
		if (log->left == 0)
			worker_log_close(log);
	} else if (n == 0 || (errno != EINTR && (errno != EAGAIN || is_last))) {
		worker_log_close(log);
	}
}

void worker_log_read_last(struct worker_log *log)
{
	if (log->fd < 0)
		return;
	log->left = descriptor_waiting(log->fd);
	if (log->left > 0)
		worker_log_read(log);
	else
		worker_log_close(log);
}

void worker_log_pass(struct worker_log *log)
{
	log->earlier = log->lines.kept;
	log->has_more = false;
}

/* Pipes become ready in the order of the writes, so epoll reports a stderr line not later than the
 * answer that was written after it. (Exception: the pipe of the answer was still ready from the
 * turn before, and both writes fall into the microsecond in which epoll walks its list.) So if the
 * worker is silent no line is unread, and a system call is saved: one in four with one task in
 * flight. */
void worker_log_begin(struct worker_log *log, bool is_read)
{
	bool is_empty = log->fd < 0 || (is_read && log->silent >= SILENT_TASKS);
	log->earlier = log->lines.kept;
	log->has_more = false;
	log->silent += log->silent < SILENT_TASKS;
	log->stale = is_empty ? 0 : descriptor_waiting(log->fd);
}

void worker_log_catch_up(struct worker_log *log)
{
	uint64_t before = log->lines.count;
	if (log->fd < 0 || log->caught_up_in == ev_iteration(log->loop))
		return;
	log->caught_up_in = ev_iteration(log->loop);
	for (int reads = 0;
		reads < CATCH_UP_READS && log->fd >= 0 && log->left == SIZE_MAX &&
		log->lines.count - before < CATCH_UP_LINES && descriptor_waiting(log->fd) > 0;
		reads++)
		worker_log_read(log);
}

struct text worker_log_last_line(const struct worker_log *log, bool is_behind, unsigned turn)
{
	bool is_late = is_behind && (int)(log->last_turn - turn) >= 0;
	return log->lines.kept > log->earlier || is_late ? lines_last(&log->lines) : TEXT_NONE;
}

struct text worker_log_last_line_before(const struct worker_log *log)
{
	bool has_line = log->lines.kept > log->earlier;
	return has_line && log->last_turn != ev_iteration(log->loop) ? lines_last(&log->lines)
								     : TEXT_NONE;
}

void worker_log_close(struct worker_log *log)
{
	if (log->fd < 0)
		return;
	ev_io_stop(log->loop, &log->io);
	descriptor_close(&log->fd);
	lines_end(&log->lines);
	if (!log->has_more) /* the unfinished line was not of this task */
		log->earlier = log->lines.kept;
}

void worker_log_release(struct worker_log *log)
{
	worker_log_close(log);
	lines_release(&log->lines);
}
