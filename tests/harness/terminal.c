#include "harness/terminal.h"

#include "harness/child.h"
#include "harness/deadline.h"

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#define WIDTH_MAX      256
#define HEIGHT_MAX     100
#define PARAMETERS_MAX 16
#define MESSAGE_MAX    3000

struct terminal {
	pid_t pid;
	int pid_fd, master, slave;
	bool is_over;
	struct termios before;
	size_t width, height, row, column;
	char page[HEIGHT_MAX][WIDTH_MAX + 1];
	uint8_t styles[HEIGHT_MAX][WIDTH_MAX]; /* of the character there */
	enum terminal_style style;             /* of the next character */
	enum { PLAIN, ESCAPED, SEQUENCE } state;
	char parameters[PARAMETERS_MAX + 1];
	bool is_other_screen, is_cursor_hidden, is_wrap_off;
};

/* ---------- what is written ---------- */

/* ck_assert_msg is slow even if it passes, and this runs for each byte. */
#define REQUIRE(is_so, ...)                                                                        \
	do {                                                                                       \
		if (!(is_so))                                                                      \
			ck_abort_msg(__VA_ARGS__);                                                 \
	} while (0)

static void erase(struct terminal *t, size_t row, size_t from)
{
	memset(t->page[row] + from, ' ', WIDTH_MAX - from);
	memset(t->styles[row] + from, TERMINAL_PLAIN, WIDTH_MAX - from);
}

static void erase_all(struct terminal *t)
{
	for (size_t row = 0; row < HEIGHT_MAX; row++)
		erase(t, row, 0);
}

static void move(struct terminal *t)
{
	char *end;
	unsigned long row = strtoul(t->parameters, &end, 10), column = 1;

	if (*end == ';')
		column = strtoul(end + 1, NULL, 10);
	REQUIRE(row >= 1 && row <= t->height && column >= 1 && column <= t->width,
		"the cursor goes to %s of %zu lines", t->parameters, t->height);
	t->row = row - 1;
	t->column = column - 1;
}

static void set_mode(struct terminal *t, bool is_on)
{
	if (strcmp(t->parameters, "?1049") == 0) {
		t->is_other_screen = is_on;
		erase_all(t);
	} else if (strcmp(t->parameters, "?25") == 0) {
		t->is_cursor_hidden = !is_on;
	} else if (strcmp(t->parameters, "?7") == 0) {
		t->is_wrap_off = !is_on;
	} else {
		ck_abort_msg("an unknown mode: %s", t->parameters);
	}
}

/* Colours are ignored. */
static enum terminal_style style_of(const char *parameters)
{
	if (strcmp(parameters, "1") == 0)
		return TERMINAL_BOLD;
	return strcmp(parameters, "7") == 0 ? TERMINAL_REVERSE : TERMINAL_PLAIN;
}

static void obey(struct terminal *t, char command)
{
	switch (command) {
	case 'H':
		move(t);
		return;
	case 'K':
		REQUIRE(!*t->parameters, "ESC [ %s K", t->parameters);
		erase(t, t->row, t->column);
		return;
	case 'J':
		REQUIRE(strcmp(t->parameters, "2") == 0, "ESC [ %s J", t->parameters);
		erase_all(t);
		return;
	case 'm':
		t->style = style_of(t->parameters);
		return;
	case 'h':
	case 'l':
		set_mode(t, command == 'h');
		return;
	default:
		ck_abort_msg("an unknown sequence: ESC [ %s %c", t->parameters, command);
	}
}

static void put(struct terminal *t, char c)
{
	if (c == '\r') {
		t->column = 0;
	} else if (c == '\n') {
		t->row += t->row + 1 < t->height;
	} else if (((uint8_t)c & 0xc0) != 0x80) { /* the first byte of a character */
		REQUIRE((uint8_t)c >= ' ', "an unknown byte: %d", c);
		t->page[t->row][t->column] = (uint8_t)c < 0x80 ? c : '?';
		t->styles[t->row][t->column] = (uint8_t)t->style;
		t->column += t->column + 1 < t->width;
	}
}

static void take(struct terminal *t, char c)
{
	size_t len = strlen(t->parameters);

	if (t->state == PLAIN && c == '\x1b') {
		t->state = ESCAPED;
	} else if (t->state == PLAIN) {
		put(t, c);
	} else if (t->state == ESCAPED) {
		REQUIRE(c == '[', "an unknown sequence: ESC %c", c);
		t->state = SEQUENCE;
		t->parameters[0] = '\0';
	} else if (c >= 0x20 && c < 0x40) {
		REQUIRE(len < PARAMETERS_MAX, "a long sequence: ESC [ %s", t->parameters);
		t->parameters[len] = c;
		t->parameters[len + 1] = '\0';
	} else {
		t->state = PLAIN;
		obey(t, c);
	}
}

static void read_some(struct terminal *t)
{
	char bytes[4096];
	ssize_t len = read(t->master, bytes, sizeof bytes);

	REQUIRE(len > 0, "the terminal: %s", strerror(errno));
	for (ssize_t i = 0; i < len; i++)
		take(t, bytes[i]);
}

/* ---------- the program ---------- */

static _Noreturn void become(const struct terminal *t, const char *const argv[])
{
	if (login_tty(t->slave) != 0)
		_exit(126);
	setenv("TERM", "xterm", 1);
	syscall(SYS_close_range, 3, ~0U, 0);
	execv(argv[0], (char *const *)argv);
	_exit(127);
}

struct terminal *terminal_start(size_t width, size_t height, const char *const argv[])
{
	struct terminal *t = calloc(1, sizeof *t);
	struct winsize size = {.ws_col = (uint16_t)width, .ws_row = (uint16_t)height};

	ck_assert_ptr_nonnull(t);
	ck_assert(width <= WIDTH_MAX && height <= HEIGHT_MAX);
	*t = (struct terminal){.width = width, .height = height};
	erase_all(t);
	ck_assert_int_eq(openpty(&t->master, &t->slave, NULL, NULL, &size), 0);
	ck_assert_int_eq(tcgetattr(t->slave, &t->before), 0);
	t->pid = child_fork();
	if (t->pid == 0)
		become(t, argv);
	t->pid_fd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	ck_assert_int_ge(t->pid_fd, 0);
	return t;
}

void terminal_free(struct terminal *t)
{
	if (!t->is_over) {
		kill(t->pid, SIGKILL);
		waitpid(t->pid, NULL, 0);
	}
	close(t->pid_fd);
	close(t->master);
	close(t->slave);
	free(t);
}

pid_t terminal_pid(const struct terminal *t)
{
	return t->pid;
}

void terminal_type(struct terminal *t, const char *keys)
{
	ck_assert_int_eq(write(t->master, keys, strlen(keys)), (ssize_t)strlen(keys));
}

/* The program must draw everything again. */
void terminal_resize(struct terminal *t, size_t width, size_t height)
{
	struct winsize size = {.ws_col = (uint16_t)width, .ws_row = (uint16_t)height};

	ck_assert(width <= WIDTH_MAX && height <= HEIGHT_MAX);
	while (poll(&(struct pollfd){.fd = t->master, .events = POLLIN}, 1, 0) == 1)
		read_some(t);
	erase_all(t);
	t->width = width;
	t->height = height;
	t->row = t->column = 0;
	ck_assert_int_eq(ioctl(t->master, TIOCSWINSZ, &size), 0);
}

/* ---------- waits ---------- */

static const char *find(const struct terminal *t, const char *needle)
{
	for (size_t row = 0; row < t->height; row++)
		if (strstr(t->page[row], needle))
			return t->page[row];
	return NULL;
}

static _Noreturn void fail_with_output(
	const struct terminal *t, const char *what, const char *needle)
{
	char all[HEIGHT_MAX * (WIDTH_MAX + 2) + 1], *out = all;

	for (size_t row = 0; row < t->height; row++) {
		size_t len = t->width;
		while (len > 0 && t->page[row][len - 1] == ' ')
			len--;
		memcpy(out, t->page[row], len);
		out += len;
		*out++ = '\n';
	}
	*out = '\0';
	/* messages of check have a maximum length */
	ck_abort_msg("%s '%s':\n%.*s", what, needle, MESSAGE_MAX, all);
}

static void read_until(struct terminal *t, const char *needle, bool is_there)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);

	while ((find(t, needle) != NULL) != is_there) {
		struct pollfd wait = {.fd = t->master, .events = POLLIN};
		if (poll(&wait, 1, deadline_left(deadline)) == 0)
			fail_with_output(
				t, is_there ? "it does not show" : "it still shows", needle);
		read_some(t);
	}
}

const char *terminal_expect(struct terminal *t, const char *needle)
{
	read_until(t, needle, true);
	return find(t, needle);
}

void terminal_expect_gone(struct terminal *t, const char *needle)
{
	read_until(t, needle, false);
}

const char *terminal_line(const struct terminal *t, size_t row)
{
	return t->page[row];
}

enum terminal_style terminal_style(const struct terminal *t, size_t row, size_t column)
{
	return t->styles[row][column];
}

/* Wait until the program ends or stops, and read its output meanwhile. */
void terminal_expect_stopped(struct terminal *t)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	int status;

	while (waitpid(t->pid, &status, WUNTRACED | WNOHANG) == 0) {
		struct pollfd wait = {.fd = t->master, .events = POLLIN};
		if (deadline_left(deadline) == 0)
			fail_with_output(t, "it is not stopped", "");
		if (poll(&wait, 1, 20) == 1)
			read_some(t);
	}
	ck_assert(WIFSTOPPED(status));
	while (poll(&(struct pollfd){.fd = t->master, .events = POLLIN}, 1, 0) == 1)
		read_some(t);
}

int terminal_wait(struct terminal *t)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	int status;
	struct pollfd wait[] = {
		{.fd = t->master, .events = POLLIN}, {.fd = t->pid_fd, .events = POLLIN}};

	for (;;) {
		if (poll(wait, 2, deadline_left(deadline)) == 0)
			fail_with_output(t, "it does not end", "");
		if (wait[0].revents)
			read_some(t);
		else if (wait[1].revents)
			break;
	}
	ck_assert_int_eq(waitpid(t->pid, &status, 0), t->pid);
	t->is_over = true;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool terminal_is_restored(const struct terminal *t)
{
	struct termios now;

	ck_assert_int_eq(tcgetattr(t->slave, &now), 0);
	return now.c_lflag == t->before.c_lflag && now.c_iflag == t->before.c_iflag &&
	       now.c_oflag == t->before.c_oflag &&
	       memcmp(now.c_cc, t->before.c_cc, sizeof now.c_cc) == 0 && !t->is_other_screen &&
	       !t->is_cursor_hidden && !t->is_wrap_off;
}
