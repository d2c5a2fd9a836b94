/* The worker of the tests of sessions. A task has its session's key in the header X-Key, a number
 * below 2^31, and its own number in that session in X-Number. Its headers say what it does:
 *   X-Sleep-Ms N    work for N ms
 *   X-Fail-Until N  answer 500 while the property attempt is at most N
 *   X-Status S      answer S: 200 (the default) or 400-499
 *   X-Crash 1       end by SIGKILL in place of an answer
 *   X-Hand-Back N   hand the task back, N times in all, before it is answered
 * Each run appends lines to the file WITNESS, one write each: "B KEY NUMBER PID" when it begins,
 * "E KEY NUMBER PID STATUS" before it answers (201: handed back). While it runs it has a lock on
 * the key's byte of the file WITNESS.lock, which the kernel releases if the worker dies; "O KEY
 * NUMBER PID" means that another worker had that lock: two tasks of one session ran at once. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wpool/worker.h>

struct keyed {
	int witness, locks;
};

static long long number_in(const struct wpool_task *task, const char *name, long long fallback)
{
	struct wpool_value value;
	if (!wpool_task_header_value(task, name, &value))
		return fallback;
	if (value.kind == WPOOL_INTEGER)
		return value.integer;
	return value.kind == WPOOL_TEXT ? atoll(value.text.data) : fallback;
}

__attribute__((format(printf, 2, 3))) static void record(
	const struct keyed *keyed, const char *format, ...)
{
	char line[128];
	va_list arguments;
	va_start(arguments, format);
	int len = vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	if (len < 0 || len >= (int)sizeof line || write(keyed->witness, line, (size_t)len) != len)
		abort();
}

static bool set_lock(const struct keyed *keyed, long long key, short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = key, .l_len = 1};
	return fcntl(keyed->locks, F_SETLK, &lock) == 0;
}

static void work_for(long long ms)
{
	struct timespec left = {ms / 1000, (ms % 1000) * 1000000};
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static int status_of(const struct wpool_task *task)
{
	struct wpool_value attempt;
	if (number_in(task, "X-Hand-Back", 0) > 0)
		return 201;
	if (wpool_task_property(task, "attempt", &attempt) && attempt.kind == WPOOL_INTEGER &&
		attempt.integer <= number_in(task, "X-Fail-Until", 0))
		return 500;
	return (int)number_in(task, "X-Status", 200);
}

static void hand_back(struct wpool_task *task)
{
	struct wpool_text body = wpool_task_body(task);
	wpool_reply_header_integer(task, "X-Key", number_in(task, "X-Key", 0));
	wpool_reply_header_integer(task, "X-Number", number_in(task, "X-Number", 0));
	wpool_reply_header_integer(task, "X-Hand-Back", number_in(task, "X-Hand-Back", 0) - 1);
	wpool_hand_back(task, body.data, body.len);
}

static void answer(struct wpool_task *task, int status)
{
	if (status == 200)
		wpool_done(task);
	else if (status == 201)
		hand_back(task);
	else if (status < 500)
		wpool_reject(task, status);
	else
		wpool_fail(task, status);
}

static void handle(struct wpool_task *task, void *context)
{
	const struct keyed *keyed = context;
	long long key = number_in(task, "X-Key", 0), number = number_in(task, "X-Number", 0);
	int status = status_of(task), pid = (int)getpid();
	if (!set_lock(keyed, key, F_WRLCK))
		record(keyed, "O %lld %lld %d\n", key, number, pid);
	record(keyed, "B %lld %lld %d\n", key, number, pid);
	work_for(number_in(task, "X-Sleep-Ms", 0));
	if (number_in(task, "X-Crash", 0))
		raise(SIGKILL);
	record(keyed, "E %lld %lld %d %d\n", key, number, pid, status);
	set_lock(keyed, key, F_UNLCK);
	answer(task, status);
}

static int open_file(const char *path, const char *suffix)
{
	char name[4096];
	snprintf(name, sizeof name, "%s%s", path, suffix);
	int fd = open(name, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		perror(name);
	return fd;
}

int main(void)
{
	const char *path = getenv("WITNESS");
	if (!path)
		return 64;
	struct keyed keyed = {open_file(path, ""), open_file(path, ".lock")};
	if (keyed.witness < 0 || keyed.locks < 0)
		return 70;
	return wpool_worker_run(handle, &keyed);
}
