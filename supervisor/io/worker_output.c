#include "io/worker.h"

#include <errno.h>

enum send_result worker_send(struct worker *worker, struct delivery *delivery, uint16_t attempt)
{
	const struct crew_config *config = worker->shop->config;
	if (worker->process != PROCESS_LIVES || worker->input != INPUT_OPEN ||
		worker->sending != SENDING_OPEN)
		return SEND_OK; /* as good as gone: SLOT_BROKEN or SLOT_GONE is on its way */
	if (outgoing_len(&worker->output) > OUTPUT_HIGH)
		return SEND_NO_MEMORY;
	enum rc rc = outgoing_add(
		&worker->output, delivery, &config->task, attempt, config->hard_limit_ms);
	if (rc != RC_OK)
		return rc == RC_LIMIT ? SEND_TOO_LARGE : SEND_NO_MEMORY;
	if (worker->open++ == 0)
		worker_begin(worker, false);
	list_remove(&worker->unsent);
	list_append(&worker->shop->unsent, &worker->unsent);
	return SEND_OK;
}

void worker_tell_room(struct worker *worker, bool room)
{
	if (worker->is_full != room)
		return;
	worker->is_full = !room;
	struct event event = {.kind = SLOT_ROOM, .slot = {.room = room}};
	worker_tell_event(worker, &event);
}

void worker_drop_output(struct worker *worker)
{
	ev_io_stop(worker->shop->loop, &worker->writable);
	list_remove(&worker->unsent);
	outgoing_drop(&worker->output);
}

/* It reads no more. Whether it is broken, or just dying with its last answers in the pipe, its
 * input tells. */
static void lose(struct worker *worker)
{
	worker->sending = SENDING_LOST;
	worker_drop_output(worker);
	worker_later(worker);
}

/* One system call; the rest when the pipe has room. */
void worker_write(struct worker *worker)
{
	list_remove(&worker->unsent);
	struct iovec parts[OUTGOING_PARTS];
	int count = outgoing_parts(&worker->output, parts);
	if (count == 0 || worker->sending != SENDING_OPEN)
		return;
	ssize_t n = worker_pipe_write(&worker->pipe, parts, count);
	if (n < 0 && errno != EAGAIN && errno != EINTR && errno != ENOBUFS && errno != ENOMEM) {
		lose(worker);
		return;
	}
	if (n > 0)
		outgoing_consume(&worker->output, (size_t)n);
	if (outgoing_len(&worker->output) > 0)
		ev_io_start(worker->shop->loop, &worker->writable);
	else
		ev_io_stop(worker->shop->loop, &worker->writable);
	if (outgoing_len(&worker->output) > OUTPUT_HIGH)
		worker_tell_room(worker, false);
	else if (outgoing_len(&worker->output) <= OUTPUT_LOW)
		worker_tell_room(worker, true);
}
