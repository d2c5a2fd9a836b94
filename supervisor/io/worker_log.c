#include "io/worker.h"

#include "io/descriptors.h"
#include "io/loop.h"
#include <errno.h>
#include <unistd.h>

/* What may be read at once beside the read of each turn. */
#define CATCH_UP_READS 16
#define CATCH_UP_LINES 64

static void on_log(struct ev_loop *loop, ev_io *io, int events)
{
	struct worker_log *log = io->data;
	loop_keep_watching(loop, io, events);
	worker_log_read(log);
	worker_bury_if_over(log->worker);
}

void worker_log_open(
	struct worker_log *log, struct worker *worker, int fd, enum worker_stream stream)
{
	static const char *const names[] = {"stdout", "stderr"};
	struct log_origin origin = worker_origin(worker);
	origin.stream = names[stream];
	lines_init(&log->lines, origin, &worker->shop->gate, stream == STREAM_ERROR);
	log->worker = worker;
	log->fd = fd;
	log->left = SIZE_MAX;
	log->earlier = log->stale = 0;
	log->has_more = false;
	log->last_turn = log->caught_up_in = ev_iteration(worker->shop->loop) - 1;
	ev_io_init(&log->io, on_log, fd, EV_READ);
	log->io.data = log;
	ev_io_start(worker->shop->loop, &log->io);
}

static unsigned turn_of(const struct worker_log *log)
{
	return ev_iteration(log->worker->shop->loop);
}

static void add(struct worker_log *log, struct text bytes)
{
	size_t stale = log->stale < bytes.len ? log->stale : bytes.len;
	log->last_turn = turn_of(log);
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
		add(log, text_of(bytes, (size_t)n));
		log->left -= is_last ? (size_t)n : 0;
		if (log->left == 0)
			worker_log_close(log);
	} else if (n == 0 || (errno != EINTR && (errno != EAGAIN || is_last))) {
		worker_log_close(log);
	}
}

void worker_log_last(struct worker_log *log)
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

void worker_log_begin(struct worker_log *log)
{
	worker_log_pass(log);
	log->stale = log->fd < 0 ? 0 : descriptor_waiting(log->fd);
}

void worker_log_catch_up(struct worker_log *log)
{
	uint64_t before = log->lines.told;
	if (log->fd < 0 || log->caught_up_in == turn_of(log))
		return;
	log->caught_up_in = turn_of(log);
	for (int reads = 0;
		reads < CATCH_UP_READS && log->fd >= 0 && log->left == SIZE_MAX &&
		log->lines.told - before < CATCH_UP_LINES && descriptor_waiting(log->fd) > 0;
		reads++)
		worker_log_read(log);
}

struct text worker_log_words(const struct worker_log *log, bool is_behind, unsigned turn)
{
	bool is_late = is_behind && (int)(log->last_turn - turn) >= 0;
	return log->lines.kept > log->earlier || is_late ? lines_last(&log->lines) : TEXT_NONE;
}

struct text worker_log_earlier_words(const struct worker_log *log)
{
	bool has_words = log->lines.kept > log->earlier;
	return has_words && log->last_turn != turn_of(log) ? lines_last(&log->lines) : TEXT_NONE;
}

bool worker_log_is_over(const struct worker_log *log)
{
	return log->fd < 0;
}

void worker_log_close(struct worker_log *log)
{
	if (log->fd < 0)
		return;
	ev_io_stop(log->worker->shop->loop, &log->io);
	descriptor_close(&log->fd);
	lines_end(&log->lines);
	if (!log->has_more) /* what stood there without a newline was not of this task */
		log->earlier = log->lines.kept;
}

void worker_log_forget(struct worker_log *log)
{
	lines_release(&log->lines);
}
