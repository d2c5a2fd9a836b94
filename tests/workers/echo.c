/* The worker of most system tests, in a pool with a concurrency with a thread for each task. The
 * headers of a task say what it does:
 *   X-Accept 1         at the beginning, accept it: it is acked, and goes on
 *   X-Hard-Limit-Ms N  then set this hard limit of the task
 *   X-Begin TEXT       then write TEXT to stderr
 *   X-Leak-Mib N       then allocate N MiB and never free them
 *   X-Sleep-Ms N       then sleep N ms
 *   X-Until PATH       then wait until this file exists
 *   X-Say TEXT         then write TEXT to stderr
 *   X-Crash N          die of signal N instead of answering
 *   X-Break 1          send a frame of length 0, a protocol error, instead of answering
 *   X-Progress N       send N progress messages
 *   X-Hand-Back N      hand the task back, N times in all, before it is answered
 *   X-Fail-Until N     answer 500 while the property attempt is at most N
 *   X-Status S         answer S: 200 (the default), 201, 400-499 or 500-599
 *   X-Retry-After-Ms N with a 5xx, ask for this delay
 *   X-Postpone-Until T while it is earlier than T (ms since 1970), postpone the task: until then,
 *                      or with X-Postpone-Ms for so long; T may be a path: until this file exists
 *   X-Report R         with a 201, reply R: pid, task or process; else the reply is the body
 *   X-Reply-Bytes N    with a 201, reply N bytes of 'x'
 *   X-Reply-Queue Q    with a 201, reply to this queue
 *   X-Reply-Header N=V with a 201, add this header to the reply
 *   X-Witness LINE     the line for the witness file; default: the property message_id, else the
 *                      correlation id
 * Before a 200 or 201 the line is appended to the file WITNESS, if that is set, and fsynced. If
 * WITNESS is a folder, each process has a file of its own in it. If BEGINS is set, a line is
 * appended to that file at the beginning of each task: the time of the machine since its boot in
 * microseconds, the queue, the header tenant (- if there is none), the correlation id, and the
 * property attempt (0 if there is none). */
#include "workers/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct echo {
	int witness, begins; /* -1: none was asked for */
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

static void work_for(long long ms)
{
	struct timespec left = {ms / 1000, (ms % 1000) * 1000000};
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static void work_until(const char *path)
{
	while (path && access(path, F_OK) != 0)
		work_for(5);
}

/* Write to each page, because the kernel gives memory only then; keep a pointer, because the
 * compiler may remove an allocation that is not used. */
static void leak(long long mebibytes)
{
	static void *volatile latest;
	size_t len = (size_t)mebibytes << 20;
	void *bytes = len ? malloc(len) : NULL;
	if (!bytes)
		return;
	memset(bytes, 'x', len);
	latest = bytes;
	(void)latest;
}

static void send_progress(struct wpool_task *task)
{
	long long notes = number_in(task, "X-Progress", 0);
	for (long long i = 1; i <= notes; i++) {
		char note[32];
		int len = snprintf(note, sizeof note, "%lld of %lld", i, notes);
		wpool_progress(task, note, (size_t)len);
	}
}

static long long status_of(const struct wpool_task *task)
{
	struct wpool_value attempt;
	if (wpool_task_property(task, "attempt", &attempt) && attempt.kind == WPOOL_INTEGER &&
		attempt.integer <= number_in(task, "X-Fail-Until", 0))
		return 500;
	return number_in(task, "X-Status", 200);
}

static const char *witness_text(const struct wpool_task *task)
{
	struct wpool_value id;
	const char *line = wpool_task_header(task, "X-Witness");
	if (line)
		return line;
	if (wpool_task_property(task, "message_id", &id) && id.kind == WPOOL_TEXT)
		return id.text.data;
	return wpool_task_correlation_id(task);
}

/* One write for the line, so that several processes may share the file. */
static bool append_witness(const struct echo *echo, const struct wpool_task *task)
{
	char line[1024];
	if (echo->witness < 0)
		return true;
	int len = snprintf(line, sizeof line, "%s\n", witness_text(task));
	if (len >= (int)sizeof line)
		len = (int)sizeof line - 1;
	return write(echo->witness, line, (size_t)len) == len && fsync(echo->witness) == 0;
}

static void set_reply_header(struct wpool_task *task)
{
	const char *wish = wpool_task_header(task, "X-Reply-Header");
	const char *equals = wish ? strchr(wish, '=') : NULL;
	char name[1024];
	if (!equals || (size_t)(equals - wish) >= sizeof name)
		return;
	snprintf(name, sizeof name, "%.*s", (int)(equals - wish), wish);
	wpool_reply_header(task, name, equals + 1);
}

static void send_reply(struct wpool_task *task, const char *body, size_t len)
{
	const char *queue = wpool_task_header(task, "X-Reply-Queue");
	if (queue)
		wpool_reply_to(task, queue, body, len);
	else
		wpool_reply(task, body, len);
}

static void reply_bytes(struct wpool_task *task, size_t len)
{
	char *bytes = malloc(len ? len : 1);
	if (!bytes)
		return;
	memset(bytes, 'x', len);
	send_reply(task, bytes, len);
	free(bytes);
}

static void reply(struct wpool_task *task)
{
	struct wpool_text body = wpool_task_body(task);
	const char *wish = wpool_task_header(task, "X-Report");
	long long bytes = number_in(task, "X-Reply-Bytes", -1);
	char *report = wish ? report_make(wish, task) : NULL;
	set_reply_header(task);
	if (bytes >= 0)
		reply_bytes(task, (size_t)bytes);
	else if (report)
		send_reply(task, report, strlen(report));
	else
		send_reply(task, body.data, body.len);
	free(report);
}

static void fail(struct wpool_task *task, long long status)
{
	long long delay_ms = number_in(task, "X-Retry-After-Ms", -1);
	if (delay_ms >= 0)
		wpool_fail_after(task, (int)status, delay_ms);
	else
		wpool_fail(task, (int)status);
}

static long long wall_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static bool postpone(struct wpool_task *task)
{
	const char *path = wpool_task_header(task, "X-Postpone-Until");
	bool is_path = path && *path == '/';
	long long left_ms = number_in(task, "X-Postpone-Until", 0) - wall_ms();
	long long delay_ms = number_in(task, "X-Postpone-Ms", left_ms);
	if (is_path ? access(path, F_OK) == 0 : left_ms <= 0)
		return false;
	wpool_postpone(task, delay_ms < WPOOL_POSTPONE_MIN_MS ? WPOOL_POSTPONE_MIN_MS : delay_ms);
	return true;
}

/* Tests look for this line. */
static void check_time(const struct wpool_task *task)
{
	long long early_ms = number_in(task, "NotBefore", 0) - wall_ms();
	if (early_ms > 0)
		fprintf(stderr, "begun %lld ms too early\n", early_ms);
}

static void answer(const struct echo *echo, struct wpool_task *task, long long status)
{
	bool is_effect = status == 200 || status == 201;
	if (is_effect && !append_witness(echo, task))
		wpool_fail(task, 500);
	else if (status == 200)
		wpool_done(task);
	else if (status == 201)
		reply(task);
	else if (status < 500)
		wpool_reject(task, (int)status);
	else
		fail(task, status);
}

static void hand_back(struct wpool_task *task, long long times_left)
{
	struct wpool_text body = wpool_task_body(task);
	wpool_reply_header_integer(task, "X-Hand-Back", times_left);
	wpool_hand_back(task, body.data, body.len);
}

/* Core files would fill the disk. */
static void crash(int number)
{
	fprintf(stderr, "dying of signal %d\n", number);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	raise(number);
}

/* The SDK does not show its descriptor, but the only socket of this process is the pipe. */
static void break_protocol(void)
{
	struct stat facts;
	for (int fd = 3; fd < 64; fd++)
		if (fstat(fd, &facts) == 0 && S_ISSOCK(facts.st_mode) &&
			write(fd, "\0\0\0\0", 4) == 4)
			pause();
}

static void say(const char *words)
{
	if (words)
		fprintf(stderr, "%s\n", words);
}

static void misbehave(const struct wpool_task *task)
{
	long long number = number_in(task, "X-Crash", 0);
	say(wpool_task_header(task, "X-Say"));
	if (number > 0)
		crash((int)number);
	if (wpool_task_header(task, "X-Break"))
		break_protocol();
}

static void record_begin(const struct echo *echo, const struct wpool_task *task)
{
	struct wpool_value attempt;
	struct timespec now;
	const char *tenant = wpool_task_header(task, "tenant");
	char line[1024];
	if (echo->begins < 0)
		return;
	clock_gettime(CLOCK_BOOTTIME, &now);
	bool has_attempt =
		wpool_task_property(task, "attempt", &attempt) && attempt.kind == WPOOL_INTEGER;
	int len = snprintf(line, sizeof line, "%lld %s %s %s %lld\n",
		now.tv_sec * 1000000LL + now.tv_nsec / 1000, wpool_task_queue(task),
		tenant ? tenant : "-", wpool_task_correlation_id(task),
		has_attempt ? (long long)attempt.integer : 0);
	if (len >= (int)sizeof line || write(echo->begins, line, (size_t)len) != len)
		perror("BEGINS");
}

static void handle(struct wpool_task *task, void *context)
{
	long long hand_backs = number_in(task, "X-Hand-Back", 0);
	long long limit_ms = number_in(task, "X-Hard-Limit-Ms", 0);
	if (wpool_task_header(task, "X-Accept"))
		wpool_accept(task);
	if (limit_ms > 0)
		wpool_set_hard_limit(task, limit_ms);
	record_begin(context, task);
	check_time(task);
	say(wpool_task_header(task, "X-Begin"));
	leak(number_in(task, "X-Leak-Mib", 0));
	work_for(number_in(task, "X-Sleep-Ms", 0));
	send_progress(task);
	work_until(wpool_task_header(task, "X-Until"));
	misbehave(task);
	if (hand_backs > 0)
		hand_back(task, hand_backs - 1);
	else if (!postpone(task))
		answer(context, task, status_of(task));
}

static int open_witness(const char *path)
{
	char name[PATH_MAX];
	struct stat facts;
	if (!path)
		return -1;
	bool is_folder = stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
	if (is_folder)
		snprintf(name, sizeof name, "%s/%d", path, (int)getpid());
	else
		snprintf(name, sizeof name, "%s", path);
	return open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

int main(void)
{
	const char *path = getenv("WITNESS");
	struct echo echo = {
		.witness = open_witness(path), .begins = open_witness(getenv("BEGINS"))};
	if (path && echo.witness < 0) {
		perror(path);
		return 70;
	}
	return wpool_worker_run_threads(handle, &echo);
}
