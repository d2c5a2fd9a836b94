#include "io/worker.h"

#include "io/descriptors.h"
#include <errno.h>
#include <unistd.h>

static void on_log(struct ev_loop *loop, ev_io *io, int events)
{
	(void)loop;
	(void)events;
	struct worker_log *log = io->data;
	worker_log_read(log);
	worker_bury_if_over(log->worker);
}

void worker_log_open(
	struct worker_log *log, struct worker *worker, int fd, enum worker_stream stream)
{
	static const char *const names[] = {"stdout", "stderr"};
	struct log_origin origin = worker_origin(worker);
	origin.stream = names[stream];
	lines_init(&log->lines, origin, stream == STREAM_ERROR);
	log->worker = worker;
	log->fd = fd;
	log->left = SIZE_MAX;
	ev_io_init(&log->io, on_log, fd, EV_READ);
	log->io.data = log;
	ev_io_start(worker->shop->loop, &log->io);
}

void worker_log_read(struct worker_log *log)
{
	char bytes[LOG_READ];
	size_t share = log->left < sizeof bytes ? log->left : sizeof bytes;
	ssize_t n = read(log->fd, bytes, share);
	bool is_last = log->left != SIZE_MAX;
	if (n > 0) {
		lines_add(&log->lines, text_of(bytes, (size_t)n));
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
}

void worker_log_forget(struct worker_log *log)
{
	lines_release(&log->lines);
}
