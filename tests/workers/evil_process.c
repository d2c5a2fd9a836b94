/* Bad behaviour of the process: how it ends or does not, what it does to its pipes, whom it leaves
 * behind. */
#include "workers/evil.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FLOOD_BYTES (1u << 20)

static void exit_zero(struct evil *evil)
{
	(void)evil;
	_exit(0);
}

static void exit_one(struct evil *evil)
{
	(void)evil;
	_exit(1);
}

static void exit_after_answer(struct evil *evil)
{
	evil_done(evil);
	_exit(0);
}

/* The signals that end a process on its own bytes; without a core file, which would only fill the
 * disk. */
static void die_by(int number)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	signal(number, SIG_DFL);
	raise(number);
}

static void crash(struct evil *evil)
{
	(void)evil;
	die_by(SIGSEGV);
}

static void abort_task(struct evil *evil)
{
	(void)evil;
	die_by(SIGABRT);
}

static void kill_itself(struct evil *evil)
{
	(void)evil;
	die_by(SIGKILL);
}

static void hang(struct evil *evil)
{
	(void)evil;
	evil_wait();
}

/* For those who measure how long it is let be. */
static void print_time(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	printf("in hand since %lld\n", now.tv_sec * 1000LL + now.tv_nsec / 1000000);
	fflush(stdout);
}

static void stop_itself(struct evil *evil)
{
	(void)evil;
	print_time();
	raise(SIGSTOP);
}

static void spin(struct evil *evil)
{
	(void)evil;
	for (volatile unsigned turn = 0;; turn++)
		;
}

static void close_pipe(struct evil *evil)
{
	close(evil->raw.out);
	if (evil->raw.in != evil->raw.out)
		close(evil->raw.in);
	evil_wait();
}

static void shut_writing(struct evil *evil)
{
	if (evil->raw.in == evil->raw.out)
		shutdown(evil->raw.out, SHUT_WR);
	else
		close(evil->raw.out);
	evil_wait();
}

static void ignore_everything(struct evil *evil)
{
	(void)evil;
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
}

static void hang_ignoring(struct evil *evil)
{
	ignore_everything(evil);
	print_time();
	evil_wait();
}

/* Works well, then neither hears of the end nor obeys. */
static void outstay(struct evil *evil)
{
	ignore_everything(evil);
	while (raw_read_frame(&evil->raw, &evil->task)) {
		evil_answer_tasks(evil);
		free(evil->task.bytes);
	}
	evil_wait();
}

static void never_read(struct evil *evil)
{
	(void)evil;
	evil_wait();
}

static void flood(int fd)
{
	static const char line[] = "a line of nothing much, again and again\n";
	for (size_t i = 0; i < FLOOD_BYTES / sizeof line; i++)
		if (write(fd, line, sizeof line - 1) < 0)
			return;
}

static void flood_stdout(struct evil *evil)
{
	flood(STDOUT_FILENO);
	evil_done(evil);
}

static void flood_stderr(struct evil *evil)
{
	flood(STDERR_FILENO);
	evil_done(evil);
}

static void endless_line(struct evil *evil)
{
	char bytes[4096];
	memset(bytes, 'x', sizeof bytes);
	for (size_t i = 0; i < FLOOD_BYTES / sizeof bytes; i++)
		if (write(STDOUT_FILENO, bytes, sizeof bytes) < 0)
			break;
	evil_done(evil);
}

static void binary_stdout(struct evil *evil)
{
	static const char bytes[] = "\0\1\x1b[31m\xff\xfe\r\n\n";
	if (write(STDOUT_FILENO, bytes, sizeof bytes - 1) < 0)
		exit_one(evil);
	evil_done(evil);
}

static void close_outputs(struct evil *evil)
{
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	evil_done(evil);
}

static void never_connect(struct evil *evil)
{
	(void)evil;
	evil_wait();
}

/* Keep all pipes open and wait; not for ever, in case it is not killed. */
static void wait_forever(void)
{
	alarm(60);
	evil_wait();
}

/* Start a child of a child, in a session of its own, and print its pid on standard output. */
static void leave_grandchild(struct evil *evil)
{
	(void)evil;
	if (fork() != 0)
		return;
	setsid();
	pid_t pid = fork();
	if (pid == 0)
		wait_forever();
	printf("grandchild %d\n", (int)pid);
	fflush(stdout);
	_exit(0);
}

/* The same without a session of its own: still in the worker's process group. */
static void leave_group_member(struct evil *evil)
{
	(void)evil;
	pid_t pid = fork();
	if (pid == 0)
		wait_forever();
	printf("grandchild %d\n", (int)pid);
	fflush(stdout);
}

static void grandchild_then_exit(struct evil *evil)
{
	leave_grandchild(evil);
	_exit(0);
}
const struct evil_behaviour evil_process[] = {
	{"exit-zero", exit_zero, NULL, NULL},
	{"exit-one", exit_one, NULL, NULL},
	{"exit-after-answer", exit_after_answer, NULL, NULL},
	{"crash", crash, NULL, NULL},
	{"abort-task", abort_task, NULL, NULL},
	{"kill-itself", kill_itself, NULL, NULL},
	{"hang", hang, NULL, NULL},
	{"stop-itself", stop_itself, NULL, NULL},
	{"spin", spin, NULL, NULL},
	{"close-pipe", close_pipe, NULL, NULL},
	{"shut-writing", shut_writing, NULL, NULL},
	{"hang-ignoring", hang_ignoring, NULL, NULL},
	{"outstay", NULL, NULL, outstay},
	{"never-read", NULL, NULL, never_read},
	{"flood-stdout", flood_stdout, NULL, NULL},
	{"flood-stderr", flood_stderr, NULL, NULL},
	{"endless-line", endless_line, NULL, NULL},
	{"binary-stdout", binary_stdout, NULL, NULL},
	{"close-outputs", close_outputs, NULL, NULL},
	{"never-connect", NULL, never_connect, NULL},
	{"leave-grandchild", NULL, NULL, leave_grandchild},
	{"leave-group-member", NULL, NULL, leave_group_member},
	{"grandchild-then-exit", grandchild_then_exit, NULL, NULL},
	{"exit-before-connect", NULL, exit_zero, NULL},
	{"crash-before-connect", NULL, crash, NULL},
	{"exit-after-connect", NULL, NULL, exit_zero},
	{NULL, NULL, NULL, NULL},
};
