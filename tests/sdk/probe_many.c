/* The worker of sdk_many.c, which has many tasks at once: probe_many poll | epoll | threads | run.
 * The first word of a body is a command, the rest its argument. All give the same answers;
 * run is for one task at a time. */
#include "sdk/probe_replies.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <wpool/loop.h>

#define LATER_MAX 1024

static void do_reply(struct wpool_task *task, const char *rest)
{
	reply_text(task, rest);
}

/* A reference keeps the task readable. */
static void do_twice(struct wpool_task *task, const char *rest)
{
	wpool_task_ref(task);
	wpool_done(task);
	bool is_refused = wpool_done(task) < 0 && errno == EALREADY;
	fprintf(stderr, "twice%s: %s\n", rest, is_refused ? "refused" : "not refused");
	if (!is_refused || strcmp(wpool_task_body(task).data, "twice") != 0)
		abort();
	wpool_task_unref(task);
}

static void do_facts(struct wpool_task *task, const char *rest)
{
	char text[128];
	snprintf(text, sizeof text, "%llu%s", (unsigned long long)wpool_task_id(task), rest);
	wpool_reply_header(task, "id", text);
	reply_text(task, wpool_task_queue(task));
}

/* Write a byte into a FIFO, to show that the task has begun, and leave the task open. */
static void do_signal(struct wpool_task *task, const char *rest)
{
	int fd = open(rest, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "", 1) != 1)
		abort();
	close(fd);
	wpool_done(task);
}

static const struct action {
	const char *name;
	void (*act)(struct wpool_task *, const char *rest);
} actions[] = {
	{"reply", do_reply},
	{"large", do_large},
	{"twice", do_twice},
	{"facts", do_facts},
	{"signal", do_signal},
};

static bool has_command(struct wpool_task *task, const char *name)
{
	const char *body = wpool_task_body(task).data;
	size_t len = strlen(name);
	return strncmp(body, name, len) == 0 && (body[len] == ' ' || body[len] == '\0');
}

/* What is done as soon as the task arrives. */
static bool act_at_once(struct wpool_task *task)
{
	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
		const char *rest = wpool_task_body(task).data + strlen(actions[i].name);
		if (!has_command(task, actions[i].name))
			continue;
		actions[i].act(task, rest + (*rest == ' '));
		return true;
	}
	return false;
}

static void report_begin(struct wpool_task *task)
{
	wpool_progress(task, "begun", 5);
}

static void stop(struct wpool_task *task, bool is_cancelled)
{
	if (is_cancelled)
		wpool_fail(task, 555);
	else
		reply_text(task, "switched");
}

/* ---------- with a handler ---------- */

static void handle(struct wpool_task *task, void *context)
{
	(void)context;
	if (act_at_once(task))
		return;
	if (has_command(task, "later")) {
		reply_text(task, wpool_task_body(task).data + 6);
	} else if (has_command(task, "hold")) {
		report_begin(task);
		while (!wpool_should_stop(task))
			usleep(2000);
		stop(task, wpool_is_cancelled(task));
	} else if (has_command(task, "give-up")) {
		report_begin(task);
		while (!wpool_is_cancelled(task))
			usleep(2000);
	}
}

/* ---------- with an event loop ---------- */

struct later {
	struct wpool_task *tasks[LATER_MAX];
	size_t count;
};

static void begin(struct wpool_task *task, struct later *later)
{
	if (act_at_once(task))
		return;
	if (has_command(task, "later") && later->count < LATER_MAX) {
		later->tasks[later->count++] = task;
	} else if (has_command(task, "hold")) {
		wpool_task_set_data(task, later);
		report_begin(task);
	} else if (has_command(task, "give-up")) {
		report_begin(task);
	} else {
		wpool_fail(task, 500);
	}
}

static void on_event(
	struct wpool_worker *worker, enum wpool_event event, struct wpool_task *task, void *context)
{
	(void)worker;
	if (event == WPOOL_EVENT_TASK)
		begin(task, context);
	else if (event == WPOOL_EVENT_CANCEL && has_command(task, "give-up"))
		wpool_fail(task, 500);
	else if (event != WPOOL_EVENT_SHUTDOWN && wpool_task_data(task) == context)
		stop(task, event == WPOOL_EVENT_CANCEL);
}

static void answer_later(struct later *later)
{
	for (size_t i = 0; i < later->count; i++)
		reply_text(later->tasks[i], wpool_task_body(later->tasks[i]).data + 6);
	later->count = 0;
}

/* A capacity that is too small leaves the places as they are; a larger one changes no others. */
static size_t ask_fds(struct wpool_worker *worker, struct pollfd ret_fds[WPOOL_FDS])
{
	static const struct pollfd untouched = {.fd = 77, .events = 77};
	struct pollfd fds[WPOOL_FDS + 1];
	for (int i = 0; i <= WPOOL_FDS; i++)
		fds[i] = untouched;
	if (wpool_worker_fds(worker, fds, WPOOL_FDS - 1) != 0 || fds[0].fd != untouched.fd)
		abort();
	size_t count = wpool_worker_fds(worker, fds, WPOOL_FDS + 1);
	if (count != WPOOL_FDS || fds[count].fd != untouched.fd)
		abort();
	memcpy(ret_fds, fds, count * sizeof *fds);
	return count;
}

static void wait_with_poll(struct wpool_worker *worker)
{
	struct pollfd fds[WPOOL_FDS];
	size_t count = ask_fds(worker, fds);
	poll(fds, count, -1);
}

static void change_watch(int epoll, struct pollfd before, struct pollfd now)
{
	struct epoll_event event = {.data.fd = now.fd};
	if (now.events & POLLIN)
		event.events |= EPOLLIN;
	if (now.events & POLLOUT)
		event.events |= EPOLLOUT;
	if (before.fd >= 0 && now.fd < 0)
		epoll_ctl(epoll, EPOLL_CTL_DEL, before.fd, NULL);
	else if (before.fd < 0 && now.fd >= 0)
		epoll_ctl(epoll, EPOLL_CTL_ADD, now.fd, &event);
	else if (before.events != now.events)
		epoll_ctl(epoll, EPOLL_CTL_MOD, now.fd, &event);
}

static void wait_with_epoll(struct wpool_worker *worker)
{
	static int epoll = -1;
	static struct pollfd before[WPOOL_FDS] = {{.fd = -1}, {.fd = -1}, {.fd = -1}};
	struct pollfd now[WPOOL_FDS];
	struct epoll_event event;
	if (epoll < 0)
		epoll = epoll_create1(EPOLL_CLOEXEC);
	size_t count = ask_fds(worker, now);
	for (size_t i = 0; i < count; i++)
		change_watch(epoll, before[i], now[i]);
	memcpy(before, now, sizeof now);
	epoll_wait(epoll, &event, 1, -1);
}

static int run_loop(void (*wait)(struct wpool_worker *))
{
	struct later later = {.count = 0};
	struct wpool_worker *worker = wpool_worker_open(on_event, &later);
	int state = -1;
	while (worker && (state = wpool_worker_step(worker)) > 0) {
		answer_later(&later);
		wait(worker);
	}
	wpool_worker_close(worker);
	return state == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	const char *way = argc == 2 ? argv[1] : "";
	if (strcmp(way, "poll") == 0)
		return run_loop(wait_with_poll);
	if (strcmp(way, "epoll") == 0)
		return run_loop(wait_with_epoll);
	if (strcmp(way, "threads") == 0)
		return wpool_worker_run_threads(handle, NULL);
	return wpool_worker_run(handle, NULL);
}
