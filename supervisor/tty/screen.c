#include "tty/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The alternate screen, no cursor, no wrapping: long lines end at the edge. */
#define ENTER TEXT("\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J")
#define LEAVE TEXT("\x1b[m\x1b[?7h\x1b[?25h\x1b[?1049l")

#define WIDTH_DEFAULT  80
#define HEIGHT_DEFAULT 24

static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

/* For the crash handler, which gets no context. */
static struct {
	volatile sig_atomic_t is_on;
	struct termios before;
} restored;

const char *screen_obstacle(void)
{
	const char *kind = getenv("TERM");

	if (!isatty(STDOUT_FILENO))
		return "standard output is no terminal";
	if (!isatty(STDIN_FILENO))
		return "standard input is no terminal";
	return kind && strcmp(kind, "dumb") == 0 ? "the terminal is a dumb one" : NULL;
}

void screen_init(struct screen *screen)
{
	*screen = (struct screen){0};
	buf_init(&screen->page, SIZE_MAX);
	screen_measure(screen);
}

void screen_release(struct screen *screen)
{
	screen_leave(screen);
	buf_release(&screen->page);
}

void screen_measure(struct screen *screen)
{
	struct winsize size;
	bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;

	screen->width = is_known ? size.ws_col : WIDTH_DEFAULT;
	screen->height = is_known ? size.ws_row : HEIGHT_DEFAULT;
	buf_clear(&screen->page);
}

/* ---------- to the terminal ---------- */

static enum rc write_all(struct text t)
{
	while (t.len > 0) {
		ssize_t done = write(STDOUT_FILENO, t.ptr, t.len);
		if (done > 0)
			t = text_of(t.ptr + done, t.len - (size_t)done);
		else if (done < 0 &&
			 errno == EAGAIN) /* another process that shares it has set that */
			poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, -1);
		else if (done == 0 || errno != EINTR)
			return RC_SYSTEM;
	}
	return RC_OK;
}

/* SIGTTOU is blocked, so that this also works in the background. */
static void restore_terminal(const struct termios *before)
{
	sigset_t output, mask;

	sigemptyset(&output);
	sigaddset(&output, SIGTTOU);
	sigprocmask(SIG_BLOCK, &output, &mask);
	(void)!write(STDOUT_FILENO, LEAVE.ptr, LEAVE.len);
	tcsetattr(STDIN_FILENO, TCSADRAIN, before);
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

static void on_crash(int signal)
{
	if (restored.is_on)
		restore_terminal(&restored.before);
	raise(signal); /* SA_RESETHAND: now with the default action */
}

enum rc screen_enter(struct screen *screen)
{
	struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_RESETHAND | SA_NODEFER};
	struct termios raw;

	if (!screen->is_on && tcgetattr(STDIN_FILENO, &screen->before) != 0)
		return RC_SYSTEM;
	raw = screen->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	restored.before = screen->before;
	restored.is_on = 1;
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
		sigaction(crashes[i], &action, NULL);
	screen->is_on = true;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0)
		return RC_SYSTEM;
	screen_measure(screen);
	return write_all(ENTER);
}

void screen_leave(struct screen *screen)
{
	if (!screen->is_on)
		return;
	restore_terminal(&screen->before);
	restored.is_on = 0;
	screen->is_on = false;
	buf_clear(&screen->page);
}

/* ---------- the page ---------- */

static void append_changes(const struct screen *screen, struct text page, struct buf *out)
{
	struct text before = buf_text(&screen->page), old, line;

	if (before.len == 0)
		buf_append_text(out, TEXT("\x1b[2J"));
	for (size_t row = 1; row <= screen->height && text_take_line(&page, &line); row++) {
		if (text_take_line(&before, &old) && text_is(old, line))
			continue;
		buf_printf(out, "\x1b[%zu;1H\x1b[K", row);
		buf_append_text(out, line);
		buf_append_text(out, TEXT("\x1b[m"));
	}
}

enum rc screen_draw(struct screen *screen, struct text page)
{
	struct buf out;
	enum rc rc;

	buf_init(&out, SIZE_MAX);
	append_changes(screen, page, &out);
	buf_clear(&screen->page);
	buf_append_text(&screen->page, page);
	if (screen->page.failed)
		buf_clear(&screen->page);
	rc = out.failed ? RC_OK : write_all(buf_text(&out)); /* out of memory: keep the old page */
	buf_release(&out);
	return rc;
}
