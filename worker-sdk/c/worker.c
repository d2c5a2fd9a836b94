#include "control.h"
#include "frames.h"
#include "pipe.h"
#include "task.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct worker {
	struct control control;
	struct data_pipe pipe;
	struct frames frames;
	struct wpool_task task;
};

enum turn { TURN_TASK, TURN_LEAVE, TURN_BROKEN };

/* The only output of the library: without it the operator would see only an exit. */
static enum turn broken(const char *what, const char *why)
{
	fprintf(stderr, "wpool worker: %s: %s, exiting\n", what, why);
	return TURN_BROKEN;
}

static bool is_over(const struct control *control)
{
	return control->quit || control->closed;
}

/* The data pipe is first. poll checks them in this order, so when it reports a task it also reports
 * every control line that was written before it, and no line can reach the wrong task. */
static enum turn wait_for_bytes(struct worker *worker)
{
	struct pollfd wait[] = {{.fd = worker->pipe.in, .events = POLLIN},
		{.fd = worker->control.fd, .events = POLLIN}};
	do {
		wait[0].revents = wait[1].revents = 0;
		if (poll(wait, 2, -1) < 0 && errno != EINTR)
			return broken("cannot wait", strerror(errno));
		if (wait[1].revents)
			control_read(&worker->control);
		if (is_over(&worker->control))
			return TURN_LEAVE;
	} while (!wait[0].revents);
	return TURN_TASK;
}

static enum turn read_bytes(struct worker *worker)
{
	size_t capacity;
	uint8_t *bytes = frames_reserve(&worker->frames, &capacity);
	if (!bytes)
		return broken("cannot read a task", "out of memory");
	enum turn turn = wait_for_bytes(worker);
	if (turn != TURN_TASK)
		return turn;
	ssize_t got = data_pipe_read(&worker->pipe, bytes, capacity);
	if (got < 0 && errno != EAGAIN)
		return broken("cannot read a task", strerror(errno));
	if (got == 0 && frames_is_cut(&worker->frames))
		return broken("the data pipe ended", "in the middle of a frame");
	if (got > 0)
		frames_added(&worker->frames, (size_t)got);
	return got == 0 ? TURN_LEAVE : TURN_TASK;
}

/* Wait for the next whole task and read it into worker->task. */
static enum turn next_task(struct worker *worker)
{
	uint8_t *frame;
	size_t len;
	enum frames_result result;
	while ((result = frames_next(&worker->frames, &frame, &len)) == FRAMES_MORE) {
		enum turn turn = read_bytes(worker);
		if (turn != TURN_TASK)
			return turn;
	}
	if (result == FRAMES_BAD_LENGTH)
		return broken("a frame of the supervisor", "impossible length");
	const char *wrong = task_read(&worker->task, frame, len);
	return wrong ? broken("a frame of the supervisor", wrong) : TURN_TASK;
}

static void finish_task(struct wpool_task *task)
{
	if (task->answered || task->write_error)
		return;
	fprintf(stderr, "wpool worker: the handler returned without an answer, failing the task\n");
	task->reply_headers = NULL;
	wpool_fail(task, STATUS_FAILED);
}

static enum turn work(struct worker *worker, wpool_handler *handler, void *context)
{
	enum turn turn;
	while ((turn = next_task(worker)) == TURN_TASK) {
		control_begin_task(&worker->control);
		handler(&worker->task, context);
		finish_task(&worker->task);
		if (worker->task.write_error)
			return broken("cannot answer", strerror(worker->task.write_error));
		if (!worker->task.answered)
			return broken("cannot answer", "out of memory");
		if (is_over(&worker->control))
			return TURN_LEAVE;
	}
	return turn;
}

static enum turn connect_and_work(struct worker *worker, wpool_handler *handler, void *context)
{
	char address[CONTROL_LINE_MAX];
	if (!control_read_address(&worker->control, address))
		return broken("no address of a data pipe on standard input",
			"this program is to be started by wpool serve");
	if (data_pipe_open(&worker->pipe, address) < 0)
		return broken(address, strerror(errno));
	return is_over(&worker->control) ? TURN_LEAVE : work(worker, handler, context);
}

static enum turn start(struct worker *worker, wpool_handler *handler, void *context)
{
	worker->pipe = (struct data_pipe){-1, -1};
	if (control_init(&worker->control) < 0)
		return broken("cannot use standard input", strerror(errno));
	enum turn turn = TURN_BROKEN;
	if (task_init(&worker->task, &worker->control, &worker->pipe)) {
		turn = connect_and_work(worker, handler, context);
		task_release(&worker->task);
	} else {
		broken("cannot start", "out of memory");
	}
	data_pipe_close(&worker->pipe);
	control_release(&worker->control);
	return turn;
}

int wpool_worker_run(wpool_handler *handler, void *context)
{
	struct worker *worker = calloc(1, sizeof *worker);
	if (!worker) {
		broken("cannot start", "out of memory");
		return EXIT_FAILURE;
	}
	enum turn turn = start(worker, handler, context);
	frames_release(&worker->frames);
	free(worker);
	return turn == TURN_LEAVE ? EXIT_SUCCESS : EXIT_FAILURE;
}
