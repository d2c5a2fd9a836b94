#include "unit/support/process/child.h"

#include "wire/frame.h"
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* {"1": 200} with its length. */
#define CHILD_DONE "\0\0\0\x06\x81\xa1\x31\xcd\0\xc8"
/* {"1": 500} */
#define CHILD_FAILED "\0\0\0\x06\x81\xa1\x31\xcd\x01\xf4"

struct child {
	int in, out; /* -1: not opened */
};

static bool child_control(char *line, size_t size)
{
	size_t len = 0;
	while (len + 1 < size && read(0, line + len, 1) == 1) {
		if (line[len] == '\n') {
			line[len] = '\0';
			return true;
		}
		len++;
	}
	return false;
}

int child_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	memccpy(address.sun_path, path, '\0', sizeof address.sun_path - 1);
	return connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

static struct child child_open(const char *form, const char *address)
{
	struct child child;
	char path[256];
	if (strcmp(form, "fifo") == 0) {
		snprintf(path, sizeof path, "%s.in", address);
		child.in = open(path, O_RDONLY);
		snprintf(path, sizeof path, "%s.out", address);
		child.out = open(path, O_WRONLY);
		return child;
	}
	bool corefx = strcmp(form, "corefx") == 0;
	snprintf(path, sizeof path, "%s%s", corefx ? "/tmp/CoreFxPipe_" : "", address);
	if (corefx && strcmp(getenv("TMPDIR"), "/tmp") != 0)
		exit(9);
	child.in = child.out = child_connect(path);
	return child;
}

static void child_close(struct child *child)
{
	close(child->in);
	if (child->out != child->in)
		close(child->out);
}

static void child_write(int fd, const void *bytes, size_t len)
{
	if (write(fd, bytes, len) != (ssize_t)len)
		exit(8);
}

#define CHILD_SAY(fd, literal) child_write(fd, literal, sizeof(literal) - 1)

static bool child_read_all(int fd, uint8_t *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = read(fd, bytes, len);
		if (n <= 0)
			return false;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

/* False: end of file in front of it. */
static bool child_skip_frame(int fd)
{
	static uint8_t bytes[20 * 1024 * 1024];
	return child_read_all(fd, bytes, WIRE_LENGTH_BYTES) &&
	       child_read_all(fd, bytes, wire_get_length(bytes));
}

/* Until the supervisor is gone. */
static _Noreturn void child_stay(void)
{
	char byte;
	while (read(0, &byte, 1) > 0)
		;
	exit(0);
}

/* ---------- behaviours ---------- */

/* A good worker: 0 only if the end of its pipe follows the control line. */
static int child_echo(struct child *child)
{
	char line[64];
	while (child_skip_frame(child->in))
		CHILD_SAY(child->out, CHILD_DONE);
	return child_control(line, sizeof line) && strcmp(line, "__quit__") == 0 ? 0 : 3;
}

/* Begins to read when SIGTERM says so. */
static int child_slow(struct child *child)
{
	sigset_t term;
	int number;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	CHILD_SAY(child->out, CHILD_DONE);
	sigwait(&term, &number);
	return child_echo(child);
}

/* Not before its first task: of a worker that ends before it was met, nothing is read. */
static int child_answers(struct child *child)
{
	child_skip_frame(child->in);
	CHILD_SAY(child->out, CHILD_DONE CHILD_DONE);
	CHILD_SAY(child->out, CHILD_DONE);
	CHILD_SAY(1, "last words");
	return 7;
}

/* Answers, and leaves one in its group and one in a session of its own, which hold everything open
 * and write for ever. The first holds stdin's name for a witness: see the tests. */
static int child_brood(struct child *child)
{
	bool escapes[] = {false, true};
	child_skip_frame(child->in);
	CHILD_SAY(child->out, CHILD_DONE);
	for (size_t i = 0; i < 2; i++) {
		if (fork() != 0)
			continue;
		if (escapes[i])
			setsid();
		signal(SIGPIPE, SIG_DFL);
		while (write(1, "still here\n", 11) > 0)
			;
		_exit(0);
	}
	return 0;
}

static int child_half(struct child *child)
{
	CHILD_SAY(child->out, "\0\0\0\x06\x81");
	child_close(child);
	child_stay();
}

/* Not before its first task: who has left a FIFO before it was met was never there. */
static int child_half_exit(struct child *child)
{
	child_skip_frame(child->in);
	CHILD_SAY(child->out, CHILD_DONE "\0\0\0\x06\x81");
	return 5;
}

static int child_huge(struct child *child)
{
	CHILD_SAY(child->out, "\x7f\xff\xff\xff\x81");
	child_stay();
}

static int child_zero(struct child *child)
{
	CHILD_SAY(child->out, "\0\0\0\0");
	child_stay();
}

static int child_garbage(struct child *child)
{
	CHILD_SAY(child->out, CHILD_DONE "\0\0\0\x02\x81\xc1" CHILD_DONE);
	child_stay();
}

/* A status that does not exist, with the id of its task: {"1": 199, "7": 5}. */
static int child_blames(struct child *child)
{
	CHILD_SAY(child->out, CHILD_DONE "\0\0\0\x08\x82\xa1\x31\xcc\xc7\xa1\x37\x05");
	child_stay();
}

static int child_closes(struct child *child)
{
	child_close(child);
	child_stay();
}

/* Reads no more, but keeps its sending side. */
static int child_deaf(struct child *child)
{
	if (child->in == child->out)
		shutdown(child->in, SHUT_RD);
	else
		close(child->in);
	CHILD_SAY(child->out, CHILD_DONE);
	child_stay();
}

/* An answer of many reads: a progress note with 1 MiB. */
static int child_large(struct child *child)
{
	static const char head[] = "\x82\xa1\x31\xff\xa1\x30\xc6\0\x10\0\0";
	static uint8_t frame[WIRE_LENGTH_BYTES + sizeof head - 1 + 0x100000];
	wire_put_length(frame, sizeof frame - WIRE_LENGTH_BYTES);
	memcpy(frame + WIRE_LENGTH_BYTES, head, sizeof head - 1);
	for (size_t sent = 0; sent < sizeof frame;) {
		ssize_t n = write(child->out, frame + sent, sizeof frame - sent);
		if (n <= 0)
			return 8;
		sent += (size_t)n;
	}
	return child_echo(child);
}

/* Lines without a word, as fast as it can, when a task comes. */
static int child_babbles(struct child *child)
{
	char lines[8000];
	child_skip_frame(child->in);
	memset(lines, '\n', sizeof lines);
	child_write(1, lines, sizeof lines);
	CHILD_SAY(1, "enough\n");
	child_stay();
}

/* Dies with something to say, the last of it without a newline, once it has a task. */
static int child_complains(struct child *child)
{
	child_skip_frame(child->in);
	CHILD_SAY(1, "not this\n");
	CHILD_SAY(2, "Traceback:\n\nValueError: 7");
	return 7;
}

/* Speaks of some of its tasks, and dies of the last without a word. */
static int child_tells(struct child *child)
{
	CHILD_SAY(2, "ready\n");
	child_skip_frame(child->in);
	CHILD_SAY(2, "of the first\n");
	CHILD_SAY(child->out, CHILD_DONE);
	child_skip_frame(child->in);
	CHILD_SAY(child->out, CHILD_FAILED);
	child_skip_frame(child->in);
	CHILD_SAY(2, "not this\nof the third\nbegun");
	CHILD_SAY(child->out, CHILD_FAILED);
	child_skip_frame(child->in);
	return 7;
}

/* Speaks of its tenth task for the first time, and dies of the next without a word. */
static int child_tells_late(struct child *child)
{
	for (int i = 0; i < 10; i++) {
		child_skip_frame(child->in);
		if (i == 9)
			CHILD_SAY(2, "of the tenth\n");
		CHILD_SAY(child->out, CHILD_DONE);
	}
	child_skip_frame(child->in);
	return 7;
}

/* Has two tasks in its pipe when it speaks of the first; it dies of the second when told to. */
static int child_tells_ahead(struct child *child)
{
	char line[64];
	child_skip_frame(child->in);
	child_skip_frame(child->in);
	CHILD_SAY(2, "of the first\n");
	CHILD_SAY(child->out, CHILD_DONE);
	child_control(line, sizeof line);
	return 7;
}

/* The same, and it dies at once, with a word of the second. */
static int child_dies_ahead(struct child *child)
{
	child_skip_frame(child->in);
	child_skip_frame(child->in);
	CHILD_SAY(2, "of the first\n");
	CHILD_SAY(child->out, CHILD_FAILED);
	CHILD_SAY(2, "of the second\n");
	return 7;
}

/* Answers when it is told to come to an end. */
static int child_yields(struct child *child)
{
	char line[64];
	child_skip_frame(child->in);
	if (!child_control(line, sizeof line) || strcmp(line, "__context_switch__") != 0)
		return 3;
	CHILD_SAY(child->out, CHILD_DONE);
	return child_echo(child);
}

/* Fails each task with the control line that comes after it. */
static int child_repeats(struct child *child)
{
	char line[64];
	while (child_skip_frame(child->in) && child_control(line, sizeof line - 1)) {
		strcat(line, "\n");
		child_write(2, line, strlen(line));
		CHILD_SAY(child->out, CHILD_FAILED);
	}
	return 0;
}

/* Logs how the process before it ended, and is a good worker. */
static int child_remembers(struct child *child)
{
	const char *last = getenv("WPOOL_LAST_EXIT");
	fprintf(stderr, "the one before: %s\n", last ? last : "none");
	return child_echo(child);
}

static int child_stays(struct child *child)
{
	(void)child;
	child_stay();
}

int child_run(const char *form, const char *name)
{
	static const struct {
		const char *name;
		int (*run)(struct child *);
	} behaviours[] = {{"echo", child_echo}, {"slow", child_slow}, {"answers", child_answers},
		{"brood", child_brood}, {"half", child_half}, {"half-exit", child_half_exit},
		{"huge", child_huge}, {"zero", child_zero}, {"garbage", child_garbage},
		{"blames", child_blames}, {"closes", child_closes}, {"deaf", child_deaf},
		{"large", child_large}, {"stays", child_stays}, {"babbles", child_babbles},
		{"complains", child_complains}, {"yields", child_yields},
		{"repeats", child_repeats}, {"tells", child_tells},
		{"tells-late", child_tells_late}, {"tells-ahead", child_tells_ahead},
		{"dies-ahead", child_dies_ahead}, {"remembers", child_remembers}};
	char address[256], line[64];
	if (!child_control(address, sizeof address))
		return 4;
	if (strcmp(name, "silent") == 0)
		child_stay();
	if (strcmp(name, "late") == 0) { /* comes only when it is asked to go */
		if (!child_control(line, sizeof line))
			return 4;
		struct child late = child_open(form, address);
		return child_skip_frame(late.in) ? 3 : 0;
	}
	struct child child = child_open(form, address);
	if (child.in < 0 || child.out < 0)
		return 6;
	for (size_t i = 0; i < sizeof behaviours / sizeof *behaviours; i++)
		if (strcmp(name, behaviours[i].name) == 0)
			return behaviours[i].run(&child);
	return 99;
}
