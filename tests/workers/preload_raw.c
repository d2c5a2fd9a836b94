/* A preloaded process by PROTOCOL.md, section 17, without an SDK; its workers use the C SDK and
 * reply with facts about their process, as those of preloaded.py do. Its argument is one of the
 * modes below: what is wrong with it. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wpool/worker.h>

enum {
	STREAMS = 3,
	PACKET_MAX = 4096,
};

struct mode {
	const char *name;
	const char *refusal;          /* the answer to each request, without a fork */
	const char *greeting;         /* an answer without a request, at the start */
	bool dies, is_silent, closes; /* instead of an answer */
	bool names_itself;            /* as the worker */
	bool is_last;                 /* ends after its first answer */
	bool keeps_session;           /* the worker calls no setsid */
	bool has_twin;                /* a second process holds what the worker has, and waits */
	bool has_dead_worker;         /* the worker ends as soon as it is one */
};

static const struct mode modes[] = {
	{.name = "good"},
	{.name = "dies", .dies = true},
	{.name = "silent", .is_silent = true},
	{.name = "refuses", .refusal = "no memory for another one"},
	{.name = "self", .names_itself = true},
	{.name = "once", .is_last = true},
	{.name = "sessionless", .keeps_session = true},
	{.name = "unasked", .greeting = "1"},
	{.name = "closes", .closes = true},
	{.name = "twice", .has_twin = true},
	{.name = "dead", .has_dead_worker = true},
};

struct request {
	char text[PACKET_MAX + 1];
	int streams[STREAMS];
};

static pid_t loader;

static void die(const char *what)
{
	perror(what);
	_exit(70);
}

/* ---------- the worker ---------- */

static const char *known(const char *name)
{
	const char *value = getenv(name);
	return value ? value : "-";
}

static void handle(struct wpool_task *task, void *context)
{
	const char *body = wpool_task_body(task).data;
	char text[512];
	(void)context;
	if (strcmp(body, "crash") == 0)
		raise(SIGKILL);
	while (strcmp(body, "stay") == 0)
		pause();
	int len = snprintf(text, sizeof text,
		"pid %d pool %s slot %s of %s mark %s preload %s loaded 0 by %d", (int)getpid(),
		known("WPOOL_POOL"), known("WPOOL_SLOT"), known("WPOOL_WORKERS"),
		known("WPOOL_WORKER"), getenv("WPOOL_PRELOAD") ? "set" : "unset", (int)loader);
	wpool_reply(task, text, (size_t)len);
}

static void set_variables(char *text)
{
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (putenv(line) != 0)
			die("putenv");
	unsetenv("WPOOL_PRELOAD");
}

static void become_worker(const struct mode *mode, struct request *request)
{
	if (!mode->keeps_session && setsid() < 0)
		die("setsid");
	for (int i = 0; i < STREAMS; i++) {
		if (dup2(request->streams[i], i) < 0)
			die("dup2");
		close(request->streams[i]);
	}
	set_variables(request->text);
}

/* ---------- the preloaded process ---------- */

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

static pid_t fork_process(void)
{
	pid_t pid = fork();
	if (pid < 0)
		die("fork");
	return pid;
}

/* The worker writes its pid when it is one. */
static void fork_worker(const struct mode *mode, struct request *request, int report)
{
	if (fork_process() != 0)
		return;
	become_worker(mode, request);
	pid_t pid = getpid();
	if (write(report, &pid, sizeof pid) != (ssize_t)sizeof pid)
		die("write");
	close(report);
	if (mode->has_dead_worker)
		_exit(4);
	exit(wpool_worker_run(handle, NULL));
}

static void fork_twin(const struct mode *mode, struct request *request, int report)
{
	if (fork_process() != 0)
		return;
	become_worker(mode, request);
	close(report);
	wait_for_ever();
}

/* The pid of the new worker, which is no child of this process. */
static pid_t make_worker(const struct mode *mode, struct request *request)
{
	int result[2];
	pid_t pid = 0;
	if (pipe(result) < 0)
		die("pipe");
	pid_t middle = fork_process();
	if (middle == 0) {
		close(result[0]);
		fork_worker(mode, request, result[1]);
		if (mode->has_twin)
			fork_twin(mode, request, result[1]);
		_exit(0);
	}
	close(result[1]);
	if (read(result[0], &pid, sizeof pid) != (ssize_t)sizeof pid)
		die("read");
	close(result[0]);
	waitpid(middle, NULL, 0);
	return pid;
}

/* False: there are no more. */
static bool receive(struct request *ret)
{
	union {
		char bytes[CMSG_SPACE(sizeof ret->streams)];
		struct cmsghdr aligned;
	} control;
	struct iovec text = {ret->text, PACKET_MAX};
	struct msghdr message = {.msg_iov = &text,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof control.bytes};
	ssize_t len = recvmsg(STDIN_FILENO, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *descriptors = len > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (len <= 0)
		return false;
	if (!descriptors || descriptors->cmsg_len != CMSG_LEN(sizeof ret->streams)) {
		fputs("a request without three descriptors\n", stderr);
		_exit(70);
	}
	ret->text[len] = '\0';
	memcpy(ret->streams, CMSG_DATA(descriptors), sizeof ret->streams);
	return true;
}

static void answer(const char *text)
{
	if (send(STDIN_FILENO, text, strlen(text), MSG_NOSIGNAL) < 0)
		die("send");
}

static void serve(const struct mode *mode, struct request *request)
{
	char number[24];
	if (mode->dies)
		_exit(3);
	if (mode->is_silent)
		wait_for_ever();
	if (mode->refusal) {
		answer(mode->refusal);
	} else {
		pid_t pid = mode->names_itself ? getpid() : make_worker(mode, request);
		snprintf(number, sizeof number, "%d", (int)pid);
		answer(number);
	}
	if (mode->is_last)
		_exit(0);
	for (int i = 0; i < STREAMS; i++)
		close(request->streams[i]);
}

static const struct mode *find_mode(const char *name)
{
	for (size_t i = 0; name && i < sizeof modes / sizeof *modes; i++)
		if (strcmp(modes[i].name, name) == 0)
			return &modes[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct mode *mode = find_mode(argc == 2 ? argv[1] : NULL);
	static struct request request;
	if (!mode || !getenv("WPOOL_PRELOAD"))
		return 64;
	loader = getpid();
	if (mode->greeting)
		answer(mode->greeting);
	if (mode->closes) {
		close(STDIN_FILENO);
		wait_for_ever();
	}
	while (receive(&request))
		serve(mode, &request);
	return 0;
}
