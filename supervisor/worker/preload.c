#include "worker/preload.h"

#include "os/clock.h"
#include "os/descriptors.h"
#include "os/loop.h"
#include "os/oom_score.h"
#include "os/proc_stat.h"
#include "os/proc_waited.h"
#include "process/child_start.h"
#include "process/guard.h"
#include "process/mark.h"
#include "process/spawn.h"
#include "worker/worker_log.h"
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_SIZE 256 /* a pid, or a reason */
/* What is read of a stream after the end: more than a pipe has by default. */
#define LAST_READS 128

struct preload {
	struct ev_loop *loop; /* borrowed, like .gate */
	struct log_gate *gate;
	struct launch launch;
	struct link waiting;           /* preload_request, without .asked */
	struct preload_request *asked; /* the process has it; NULL: none, or it was cancelled */
	bool is_asked;                 /* the process owes an answer */
	mtime asked_at, had_waited;    /* .is_asked: when, and its proc_waited then */
	ev_timer overdue;              /* active while it may give it */
	struct buf last;               /* preload_last_line */
	bool is_held;

	pid_t pid;  /* 0: none runs; then the rest has no meaning */
	uid_t user; /* its own, and so that of the workers that it forks */
	struct stray_life life;
	bool has_forked, is_killed; /* is_killed: it gets no request */
	mtime began;
	int socket; /* its stdin */
	ev_io answered;
	struct child_start start;
	struct worker_log logs[STREAM_COUNT];
};

static const struct exit_info cancelled = {EXIT_NOT_STARTED, ECANCELED, "preload"};

static struct log_origin origin_of(const struct preload *preload)
{
	return (struct log_origin){
		.pool = preload->launch.config->pool, .slot = -1, .pid = (int)preload->pid};
}

static void answer(struct preload_request *request, pid_t pid, const struct exit_info *failure)
{
	list_remove(&request->link);
	request->on_answer(request->ctx, pid, failure);
	child_pipes_close(&request->pipes);
}

/* The process owes no answer any more. */
static struct preload_request *take_asked(struct preload *preload)
{
	struct preload_request *request = preload->asked;
	preload->asked = NULL;
	preload->is_asked = false;
	ev_timer_stop(preload->loop, &preload->overdue);
	return request;
}

static void fail_asked(struct preload *preload, const struct exit_info *failure)
{
	struct preload_request *request = take_asked(preload);
	if (request)
		answer(request, 0, failure);
}

/* Those that wait now; on_answer may not add any. */
static void fail_waiting(struct preload *preload, const struct exit_info *failure)
{
	struct link *link;
	while ((link = list_first(&preload->waiting)))
		answer(CONTAINER_OF(link, struct preload_request, link), 0, failure);
}

/* ---------- requests go out ---------- */

static bool send_streams(int socket, struct text lines, const int streams[CHILD_STREAMS])
{
	union {
		char bytes[CMSG_SPACE(CHILD_STREAMS * sizeof(int))];
		struct cmsghdr aligned;
	} control = {0};
	struct iovec part = {(char *)lines.ptr, lines.len};
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof control.bytes};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(CHILD_STREAMS * sizeof(int));
	memcpy(CMSG_DATA(header), streams, CHILD_STREAMS * sizeof(int));
	return sendmsg(socket, &message, MSG_NOSIGNAL) >= 0;
}

/* What differs between the workers of a pool, as worker_environment.h has it. */
static bool send_request(struct preload *preload, const struct preload_request *request)
{
	char mark[MARK_SIZE], lines[MARK_SIZE + 128];
	const char *last_exit = request->last_exit;
	mark_write(mark, strays_run(preload->launch.strays), request->life);
	int len = snprintf(lines, sizeof lines, "WPOOL_SLOT=%u\nWPOOL_WORKERS=%u\n%s\n%s%s",
		(unsigned)request->slot, (unsigned)preload->launch.config->workers, mark,
		last_exit ? last_exit : "", last_exit ? "\n" : "");
	return send_streams(preload->socket, text_of(lines, (size_t)len), request->pipes.theirs);
}

static void kill_process(struct preload *preload)
{
	spawn_signal(preload->pid, SIGKILL);
	preload->is_killed = true;
	ev_io_stop(preload->loop, &preload->answered);
	ev_timer_stop(preload->loop, &preload->overdue);
}

/* For its answer. */
static mtime time_left(const struct preload *preload)
{
	mtime limit = mtime_after(preload->launch.config->boot_limit, preload_waited(preload));
	return mtime_after(preload->asked_at, limit) - clock_now();
}

/* Give the process the next request if it has none. If it has gone, or closed its socket, its end
 * decides about those that wait. */
static void ask_next(struct preload *preload)
{
	struct link *link;
	while (!preload->is_killed && !preload->is_asked &&
		(link = list_first(&preload->waiting))) {
		struct preload_request *request = CONTAINER_OF(link, struct preload_request, link);
		if (send_request(preload, request)) {
			list_remove(link);
			preload->asked = request;
			preload->is_asked = true;
			preload->asked_at = clock_now();
			preload->had_waited = proc_waited(preload->pid);
			loop_start_timer(preload->loop, &preload->overdue, time_left(preload));
		} else if (errno == EPIPE || errno == ECONNRESET) {
			kill_process(preload);
		} else {
			struct exit_info failure = {EXIT_NOT_STARTED, errno, "preload"};
			answer(request, 0, &failure);
		}
	}
}

/* ---------- answers come in ---------- */

/* 0: the text is no pid. */
static pid_t read_pid(const char *text)
{
	char *end;
	if (*text < '1' || *text > '9')
		return 0;
	long number = strtol(text, &end, 10);
	return *end || number > INT32_MAX ? 0 : (pid_t)number;
}

/* Of workers that are started now. */
static uid_t user_of_workers(const struct preload *preload)
{
	const struct rights *owner = workers_owner(preload->launch.config);
	return owner ? owner->uid : getuid();
}

/* NULL: the process is a child of ours that no other part knows, of the pool's user. */
static const char *why_not_ours(struct preload *preload, pid_t pid, int *ret_error)
{
	struct proc_stat stat;
	uid_t user;
	*ret_error = ECHILD;
	if (!proc_stat_read(pid, &stat))
		return "it has ended";
	*ret_error = EPROTO;
	if (stat.parent != getpid())
		return "it is no child of wpool: a worker is forked by a process that was forked "
		       "for it and has ended";
	if (!proc_stat_real_user(pid, &user) || user != user_of_workers(preload))
		return "it has another user";
	strays_adopt(preload->launch.strays, pid);
	return reaper_knows(preload->launch.reaper, pid) ? "wpool knows it already" : NULL;
}

static void log_first_fork(struct preload *preload)
{
	if (!preload->has_forked)
		log_line(LOG_INFO, origin_of(preload),
			"the preloaded process forked its first worker, %.1f s after its start",
			(double)(clock_now() - preload->began) / MTIME_SECOND);
	preload->has_forked = true;
}

static void handle_pid(struct preload *preload, pid_t pid)
{
	struct exit_info failure = {EXIT_NOT_STARTED, EPROTO, "preload"};
	const char *reason = why_not_ours(preload, pid, &failure.number);
	if (!reason && getsid(pid) != pid) {
		reason = "it does not lead a session";
		spawn_signal(pid, SIGKILL); /* no process of another user, nor a worker */
	}
	if (reason) {
		log_line(LOG_WARN, origin_of(preload),
			"the preloaded process answered %d, which is no worker: %s", (int)pid,
			reason);
		fail_asked(preload, &failure);
		return;
	}
	log_first_fork(preload);
	struct preload_request *request = take_asked(preload);
	if (request)
		answer(request, pid, NULL);
	else
		spawn_signal(pid, SIGKILL); /* it was cancelled */
}

static void handle_answer(struct preload *preload, const char *text)
{
	pid_t pid = read_pid(text);
	if (!preload->is_asked) {
		log_line(LOG_WARN, origin_of(preload),
			"the preloaded process answered without a request: killing it");
		kill_process(preload);
	} else if (pid) {
		handle_pid(preload, pid);
	} else {
		log_line(LOG_WARN, origin_of(preload), "the preloaded process cannot fork: %s",
			text);
		fail_asked(preload, &cancelled);
	}
}

/* Handle a packet, if there is one. False: the socket has ended. */
static bool read_answer(struct preload *preload)
{
	char text[ANSWER_SIZE];
	ssize_t n = recv(preload->socket, text, sizeof text - 1, 0);
	if (n > 0) {
		text[n] = '\0';
		handle_answer(preload, text);
	}
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* An answer that came just before its end counts. */
static void read_last_answer(struct preload *preload)
{
	if (preload->is_asked)
		(void)read_answer(preload);
}

static void on_answered(struct ev_loop *loop, ev_io *io, int events)
{
	struct preload *preload = io->data;
	loop_keep_watching(loop, io, events);
	if (read_answer(preload))
		ask_next(preload);
	else
		kill_process(preload); /* its end follows, if it did not only close the socket */
}

/* We may not have run for a while, so first read what has come meanwhile. */
static void on_overdue(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)events;
	struct preload *preload = timer->data;
	(void)read_answer(preload);
	mtime left = preload->is_asked ? time_left(preload) : 0;
	if (left > 0) { /* it waited for a processor, or nothing could run */
		loop_start_timer(loop, timer, left);
	} else if (preload->is_asked) {
		log_line(LOG_WARN, origin_of(preload),
			"the preloaded process forked no worker in time: killing it");
		kill_process(preload);
	} else {
		ask_next(preload);
	}
}

/* ---------- the end of the process ---------- */

static void close_process(struct preload *preload)
{
	strays_end(preload->launch.strays, &preload->life);
	ev_io_stop(preload->loop, &preload->answered);
	descriptor_close(&preload->socket);
	child_start_close(&preload->start);
	for (int stream = 0; stream < STREAM_COUNT; stream++)
		worker_log_release(&preload->logs[stream]);
	preload->pid = 0;
}

/* Kill it without waiting for its end, and a worker that it has forked meanwhile. */
static void abandon(struct preload *preload)
{
	preload->asked = NULL;
	if (!preload->pid)
		return;
	kill_process(preload);
	read_last_answer(preload);
	take_asked(preload);
	reaper_forget(preload->launch.reaper, preload->pid);
	guard_remove(preload->launch.guard, preload->pid);
	close_process(preload);
}

/* All but what a process that has enlarged its pipe has left there. */
static void read_log_to_its_end(struct worker_log *log)
{
	worker_log_read_last(log);
	for (int reads = 0; log->fd >= 0 && reads < LAST_READS; reads++)
		worker_log_read(log);
}

static void keep_last_line(struct preload *preload)
{
	struct text line = lines_last(&preload->logs[STREAM_ERROR].lines);
	buf_clear(&preload->last);
	if (!preload->has_forked)
		buf_append_text(&preload->last, line);
	preload->last.failed = false;
}

static void log_end(const struct preload *preload, const struct exit_info *exit)
{
	const char *next = !preload->has_forked ? "it forked no worker, so none can be started"
			   : preload->is_held   ? "the restart goes on without it"
						: "it is started again";
	if (exit->kind == EXIT_NOT_STARTED)
		log_line(LOG_WARN, origin_of(preload),
			"the preloaded process cannot be started: %s: %s", exit->stage,
			strerror(exit->number));
	else
		log_line(LOG_WARN, origin_of(preload),
			"the preloaded process ended with %s %d%s%s: %s",
			exit->kind == EXIT_SIGNAL ? "signal" : "exit status", (int)exit->number,
			exit->stage ? ", " : "", exit->stage ? exit->stage : "", next);
}

static void start(struct preload *preload);

static void on_exit_of_preload(void *ctx, pid_t pid, struct exit_info exit)
{
	struct preload *preload = ctx;
	struct exit_info failure = {EXIT_NOT_STARTED, ESRCH, "preload"};
	launch_ended(preload->launch.guard, preload->launch.strays, &preload->life, pid, &exit);
	child_start_ended(&preload->start, &exit);
	if (exit.kind == EXIT_NOT_STARTED)
		failure = exit;
	read_last_answer(preload);
	for (int stream = 0; stream < STREAM_COUNT; stream++)
		read_log_to_its_end(&preload->logs[stream]);
	log_end(preload, &exit);
	keep_last_line(preload);
	bool is_needed = preload->has_forked && !preload->is_held;
	close_process(preload);
	fail_asked(preload, &failure);
	if (is_needed)
		start(preload);
	else
		fail_waiting(preload, &failure);
}

/* ---------- the start ---------- */

static void on_runs(void *ctx)
{
	const struct preload *preload = ctx;
	oom_score_raise(preload->pid);
}

static void on_log(struct ev_loop *loop, ev_io *io, int events)
{
	loop_keep_watching(loop, io, events);
	worker_log_read(CONTAINER_OF(io, struct worker_log, io));
}

static void watch(struct preload *preload, ev_io *io,
	void (*on_event)(struct ev_loop *, ev_io *, int), int fd)
{
	ev_io_init(io, on_event, fd, EV_READ);
	io->data = preload;
	ev_io_start(preload->loop, io);
}

static void open_log(struct preload *preload, enum worker_stream stream, int fd)
{
	worker_log_open(&preload->logs[stream], stream, fd, origin_of(preload), preload->gate,
		on_log, preload);
}

/* Start the process, and give it the first request; or fail all. */
static void start(struct preload *preload)
{
	struct spawned child;
	struct exit_info failure;
	assert(!preload->pid);
	buf_clear(&preload->last);
	if (!launch_preload(&preload->launch, &child, &failure)) {
		log_end(preload, &failure);
		strays_end(preload->launch.strays, &preload->life);
		fail_waiting(preload, &failure);
		return;
	}
	preload->pid = child.pid;
	preload->user = user_of_workers(preload);
	preload->socket = child.control;
	preload->has_forked = preload->is_killed = false;
	preload->began = clock_now();
	watch(preload, &preload->answered, on_answered, child.control);
	child_start_watch(&preload->start, preload->loop, child.start, on_runs, preload);
	open_log(preload, STREAM_OUTPUT, child.output);
	open_log(preload, STREAM_ERROR, child.error);
	log_line(LOG_INFO, origin_of(preload), "the preloaded process was started: %s",
		preload->launch.config->command[0]);
	ask_next(preload);
}

/* ---------- requests of the workers ---------- */

struct preload *preload_new(
	struct ev_loop *loop, const struct launch *launch, struct log_gate *gate)
{
	struct preload *preload = calloc(1, sizeof *preload);
	if (!preload)
		return NULL;
	preload->loop = loop;
	preload->gate = gate;
	preload->launch = *launch;
	preload->launch.life = &preload->life;
	preload->launch.on_exit = on_exit_of_preload;
	preload->launch.ctx = preload;
	preload->socket = -1;
	child_start_init(&preload->start);
	ev_timer_init(&preload->overdue, on_overdue, 0, 0);
	preload->overdue.data = preload;
	list_init(&preload->waiting);
	buf_init(&preload->last, LINES_LAST_MAX);
	for (int stream = 0; stream < STREAM_COUNT; stream++)
		worker_log_init(&preload->logs[stream], loop);
	return preload;
}

static void fail_abandoned(struct preload *preload)
{
	struct preload_request *asked = preload->asked;
	abandon(preload);
	if (asked)
		answer(asked, 0, &cancelled);
}

void preload_free(struct preload *preload)
{
	if (!preload)
		return;
	fail_abandoned(preload);
	fail_waiting(preload, &cancelled);
	buf_release(&preload->last);
	free(preload);
}

/* As the steps of spawn_child.h, which are done here, because the process may not have our rights.
 */
static const char *open_pipes(const struct preload *preload, struct child_pipes *pipes)
{
	const struct rights *owner = workers_owner(preload->launch.config);
	if (!child_pipes_open(pipes, false))
		return "pipe";
	return owner && !child_pipes_give(pipes, owner->uid, owner->gid) ? "its pipes" : NULL;
}

void preload_fork(struct preload *preload, struct preload_request *request)
{
	const char *stage = open_pipes(preload, &request->pipes);
	request->preload = preload;
	list_init(&request->link);
	if (stage) {
		answer(request, 0, &(struct exit_info){EXIT_NOT_STARTED, errno, stage});
		return;
	}
	list_append(&preload->waiting, &request->link);
	if (preload->pid)
		ask_next(preload);
	else
		start(preload);
}

void preload_cancel(struct preload_request *request)
{
	struct preload *preload = request->preload;
	list_remove(&request->link);
	child_pipes_close(&request->pipes);
	if (request == preload->asked)
		preload->asked = NULL; /* the answer is still owed */
}

void preload_renew(struct preload *preload)
{
	fail_abandoned(preload);
	buf_clear(&preload->last);
	if (!preload->launch.config->is_preloaded)
		fail_waiting(preload, &cancelled);
	else if (list_first(&preload->waiting))
		start(preload);
}

bool preload_can_fork(const struct preload *preload)
{
	return preload->pid && preload->has_forked && !preload->is_killed &&
	       preload->user == user_of_workers(preload);
}

void preload_hold(struct preload *preload, bool is_held)
{
	preload->is_held = is_held;
}

struct preload_facts preload_facts(const struct preload *preload)
{
	return (struct preload_facts){preload->pid, !preload->has_forked, preload->is_held};
}

mtime preload_waited(const struct preload *preload)
{
	if (!preload->is_asked)
		return 0;
	/* Less than before if what it had started has ended. */
	return mtime_max(proc_waited(preload->pid) - preload->had_waited, 0);
}

struct text preload_last_line(const struct preload *preload)
{
	return buf_text(&preload->last);
}
