/* A worker's first moments: spawn, exec, and the meeting at its data pipe. */
#include "io/worker.h"

#include "io/descriptors.h"
#include "io/guard.h"
#include "io/loop.h"
#include "io/mark.h"
#include "io/reaper.h"
#include "io/spawn.h"
#include "io/worker_environment.h"
#include "wire/frame.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void on_peer(struct ev_loop *loop, ev_io *io, int events)
{
	loop_keep_watching(loop, io, events);
	worker_meet(io->data);
}

static void on_readable(struct ev_loop *loop, ev_io *io, int events)
{
	struct worker *worker = io->data;
	loop_keep_watching(loop, io, events);
	worker_read(worker);
	worker_bury_if_over(worker);
}

static void on_writable(struct ev_loop *loop, ev_io *io, int events)
{
	loop_keep_watching(loop, io, events);
	worker_write(io->data);
}

/* A failure is read when the exit comes, too: whichever is first. */
static void on_started(struct ev_loop *loop, ev_io *io, int events)
{
	struct worker *worker = io->data;
	struct exit_info failure;
	loop_keep_watching(loop, io, events);
	enum spawn_outcome outcome = spawn_outcome(worker->start, &failure);
	if (outcome == SPAWN_PENDING)
		return;
	ev_io_stop(loop, &worker->started);
	descriptor_close(&worker->start);
	if (outcome == SPAWN_FAILED)
		worker->exit = failure;
}

/* ---------- spawn ---------- */

static void watch(struct worker *worker, ev_io *io,
	void (*on_event)(struct ev_loop *, ev_io *, int), int fd, int events)
{
	ev_io_init(io, on_event, fd, events);
	io->data = worker;
	if (events == EV_READ)
		ev_io_start(worker->shop->loop, io);
}

static void adopt(struct worker *worker, const struct spawned *child)
{
	worker->pid = child->pid;
	worker->control = child->control;
	worker->start = child->start;
	watch(worker, &worker->started, on_started, child->start, EV_READ);
	worker_log_open(&worker->logs[STREAM_OUTPUT], worker, child->output, STREAM_OUTPUT);
	worker_log_open(&worker->logs[STREAM_ERROR], worker, child->error, STREAM_ERROR);
	if (worker->pipe.waiting >= 0)
		watch(worker, &worker->readable, on_peer, worker->pipe.waiting, EV_READ);
	else
		worker_later(worker); /* nothing tells when a FIFO's other end is opened */
}

/* Nobody will hear of its end: the reaper takes it for a stranger. */
static void abandon(struct spawned *child)
{
	kill(child->pid, SIGKILL);
	descriptor_close(&child->control);
	descriptor_close(&child->output);
	descriptor_close(&child->error);
	descriptor_close(&child->start);
}

/* By what is configured now, for it may be another than that of the worker before. */
static bool start_process(struct worker *worker, struct spawned *ret)
{
	struct workshop *shop = worker->shop;
	const struct crew_config *config = shop->config;
	char file[WORKER_PIPE_FILE_BYTES], mark[MARK_BYTES];
	worker_pipe_file(&worker->pipe, file);
	mark_write(mark, strays_run(shop->strays), worker->kin.number);
	char **environment = worker_environment_new(config, mark);
	if (!environment) {
		worker->exit = (struct exit_info){EXIT_NOT_STARTED, ENOMEM, "memory"};
		return false;
	}
	int cgroup = strays_open_group(shop->strays, &worker->kin);
	const struct spawn_request request = {.command = config->command,
		.environment = environment,
		.descriptors = config->descriptors,
		.cgroup = cgroup,
		.group = guard_place(shop->guard),
		.rights = config->rights,
		.folder = config->folder,
		.reach = crew_owner(config) ? file : NULL};
	enum rc rc = spawn_process(&request, ret, &worker->exit);
	descriptor_close(&cgroup);
	free(environment);
	return rc == RC_OK;
}

bool worker_launch(struct worker *worker)
{
	struct workshop *shop = worker->shop;
	const struct crew_config *config = shop->config;
	struct spawned child;
	if (crew_owner(config))
		rundir_share(shop->rundir);
	worker_pipe_init(&worker->pipe, config->pipe, shop->rundir, crew_owner(config));
	if (worker_pipe_open(&worker->pipe) != RC_OK) {
		worker->exit = (struct exit_info){
			EXIT_NOT_STARTED, errno, worker_pipe_stage(config->pipe)};
		return false;
	}
	strays_begin(shop->strays, &worker->kin);
	if (!start_process(worker, &child))
		return false;
	if (!reaper_watch(shop->reaper, child.pid, worker_on_exit, worker)) {
		abandon(&child);
		guard_remove(shop->guard, child.pid);
		worker->exit = (struct exit_info){EXIT_NOT_STARTED, ENOMEM, "memory"};
		return false;
	}
	adopt(worker, &child);
	worker_write_control(worker, worker_pipe_address(&worker->pipe));
	return true;
}

void worker_write_control(struct worker *worker, const char *line)
{
	char bytes[RUNDIR_PATH_BYTES + 1];
	int len = snprintf(bytes, sizeof bytes, "%s\n", line);
	ssize_t n = write(worker->control, bytes, (size_t)len);
	if (n != len)
		log_line(LOG_WARN, worker_origin(worker), "cannot write to its stdin: %s",
			n < 0 ? strerror(errno) : "it is full");
}

/* ---------- the meeting ---------- */

static void open_pipe(struct worker *worker)
{
	worker->input = INPUT_OPEN;
	watch(worker, &worker->readable, on_readable, worker->pipe.input, EV_READ);
	watch(worker, &worker->writable, on_writable, worker->pipe.output, EV_WRITE);
	if (worker->sending == SENDING_SHUT)
		worker_pipe_shut(&worker->pipe); /* asked to quit before it came */
	else
		worker_tell(worker, SLOT_READY);
}

/* Out of descriptors, most likely. The peer stays in the backlog; its watcher would only spin. */
static void meet_later(struct worker *worker, const char *why)
{
	if (!worker->has_complained)
		log_line(LOG_WARN, worker_origin(worker),
			"cannot take its connection: %s; trying again", why);
	worker->has_complained = true;
	worker_later(worker);
}

void worker_meet(struct worker *worker)
{
	pid_t peer = 0;
	/* Before the descriptor it watches is closed. */
	ev_io_stop(worker->shop->loop, &worker->readable);
	size_t frame = worker->shop->config->task.frame_limit + WIRE_LENGTH_BYTES;
	enum rc rc = worker_pipe_connect(&worker->pipe, worker->pid, frame, &peer);
	if (rc == RC_OK) {
		open_pipe(worker);
		return;
	}
	if (rc == RC_REFUSED)
		log_line(LOG_WARN, worker_origin(worker),
			"refused process %d at its pipe: of another user or session, or gone",
			(int)peer);
	if (rc != RC_REFUSED && rc != RC_NOT_FOUND)
		meet_later(worker, strerror(errno));
	else if (worker->pipe.form == PIPE_FIFO)
		worker_later(worker);
	else
		ev_io_start(worker->shop->loop, &worker->readable);
}
