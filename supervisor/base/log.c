#include "base/log.h"

#include "base/json.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A message of control characters is six times as long in JSON. */
enum { LINE_MAX_BYTES = 6 * LOG_MESSAGE_MAX + 1024, LINE_RESERVED = 4096 };

static struct {
	int fd;     /* borrowed, or the one below */
	int opened; /* owned: our own way to the terminal behind fd, or -1 */
	enum log_level least;
	enum log_format format;
	bool colour;
	size_t piece; /* most bytes of one write */
	bool torn;    /* the last line was written in part: its newline is still owed */
	uint64_t lost;
	struct buf line;
} setup = {.fd = STDERR_FILENO,
	.opened = -1,
	.least = LOG_INFO,
	.piece = PIPE_BUF,
	.line = {.limit = LINE_MAX_BYTES}};

const char *log_level_name(enum log_level level)
{
	static const char *const names[] = {
#define X(value, name) [value] = name,
		LOG_LEVELS(X)
#undef X
	};
	return names[level];
}

/* poll calls a terminal writable that has room for one byte, and a longer write waits: O_NONBLOCK
 * is needed. Set on fd it would hit everybody who shares it, our parent's shell for one; so the
 * terminal is opened anew. */
static int open_terminal(int fd)
{
	char name[32];
	if (!isatty(fd))
		return -1;
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	return open(name, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* A pipe that poll calls writable takes PIPE_BUF bytes at once and without waiting; a longer line
 * goes there in pieces. A file never makes us wait, so it gets a line whole. A terminal that could
 * not be opened anew gets what it surely has room for. */
static size_t piece_of(int fd, bool is_opened)
{
	struct stat st;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return LINE_MAX_BYTES;
	return isatty(fd) && !is_opened ? 1 : PIPE_BUF;
}

void log_setup(int fd, enum log_level least, enum log_format format, bool colour)
{
	int saved = errno;
	if (setup.opened >= 0)
		close(setup.opened);
	setup.opened = open_terminal(fd);
	setup.piece = piece_of(fd, setup.opened >= 0);
	setup.fd = setup.opened >= 0 ? setup.opened : fd;
	setup.least = least;
	setup.format = format;
	setup.colour = colour;
	setup.torn = false;
	/* Reserved now, so that an ordinary line can still be written when memory has run out. */
	buf_clear(&setup.line);
	if (!buf_room(&setup.line, LINE_RESERVED))
		buf_clear(&setup.line);
	errno = saved;
}

bool log_is_on(enum log_level level)
{
	return level >= setup.least;
}

uint64_t log_lost(void)
{
	return setup.lost;
}

static bool is_writable(void)
{
	struct pollfd poll_fd = {.fd = setup.fd, .events = POLLOUT};
	int count;
	do
		count = poll(&poll_fd, 1, 0);
	while (count < 0 && errno == EINTR);
	return count == 1 && (poll_fd.revents & POLLOUT);
}

/* False: not all of it could be written. */
static bool write_whole(struct text line)
{
	while (line.len > 0) {
		size_t len = line.len < setup.piece ? line.len : setup.piece;
		if (!is_writable())
			return false;
		ssize_t written = write(setup.fd, line.ptr, len);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		setup.torn = true;
		line = text_of(line.ptr + written, line.len - (size_t)written);
	}
	setup.torn = false;
	return true;
}

/* ---------- the parts of a line ---------- */

static const char *colour_of(enum log_level level)
{
	static const char *const colours[] = {
		[LOG_DEBUG] = "\033[2m",
		[LOG_INFO] = "\033[32m",
		[LOG_WARN] = "\033[33m",
		[LOG_ERROR] = "\033[31m",
	};
	return setup.colour ? colours[level] : "";
}

static void append_text_origin(struct buf *out, const struct log_origin *origin)
{
	if (origin->pool)
		utf8_append_harmless(out, text_from(origin->pool));
	if (origin->slot >= 0)
		buf_printf(out, "/%d", origin->slot);
	if (origin->pid)
		buf_printf(out, "[%d]", origin->pid);
	if (origin->pool || origin->slot >= 0 || origin->pid)
		buf_append_byte(out, ' ');
	if (origin->stream)
		buf_printf(out, "%s: ", origin->stream);
}

static void append_text_line(struct buf *out, enum log_level level, const struct log_origin *origin,
	struct text message, const struct timespec *now)
{
	struct tm local;
	if (!localtime_r(&now->tv_sec, &local))
		local = (struct tm){0};
	buf_printf(out, "%02d:%02d:%02d.%03d %s%-5s%s ", local.tm_hour, local.tm_min, local.tm_sec,
		(int)(now->tv_nsec / 1000000), colour_of(level), log_level_name(level),
		setup.colour ? "\033[0m" : "");
	append_text_origin(out, origin);
	utf8_append_harmless(out, message);
}

static void append_json_task(struct buf *out, const struct log_task *task)
{
	buf_append_text(out, TEXT(",\"task\":"));
	json_append_string(out, task->name);
	if (task->trace.len)
		buf_printf(out, ",\"trace_id\":\"%.*s\"", TEXT_ARGS(task->trace));
	if (task->attempt)
		buf_printf(out, ",\"attempt\":%u", task->attempt);
	if (task->reason && *task->reason)
		buf_printf(out, ",\"reason\":\"%s\"", task->reason);
	if (task->status)
		buf_printf(out, ",\"status\":%d", task->status);
}

static void append_json_line(struct buf *out, enum log_level level, const struct log_origin *origin,
	struct text message, const struct timespec *now)
{
	struct tm utc;
	if (!gmtime_r(&now->tv_sec, &utc))
		utc = (struct tm){0};
	buf_printf(out, "{\"ts\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\",\"level\":\"%s\"",
		utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
		utc.tm_sec, (int)(now->tv_nsec / 1000000), log_level_name(level));
	if (origin->pool) {
		buf_append_text(out, TEXT(",\"pool\":"));
		json_append_string(out, text_from(origin->pool));
	}
	if (origin->slot >= 0)
		buf_printf(out, ",\"slot\":%d", origin->slot);
	if (origin->pid)
		buf_printf(out, ",\"pid\":%d", origin->pid);
	if (origin->stream)
		buf_printf(out, ",\"stream\":\"%s\"", origin->stream);
	if (origin->task)
		append_json_task(out, origin->task);
	buf_append_text(out, TEXT(",\"msg\":"));
	json_append_string(out, message);
	buf_append_byte(out, '}');
}

/* The message where it fits, else its beginning (whole characters of it) and a mark, in room. */
static struct text cut(struct text message, char room[LOG_MESSAGE_MAX])
{
	static const char mark[] = " [cut]";
	if (message.len <= LOG_MESSAGE_MAX)
		return message;
	size_t len = LOG_MESSAGE_MAX - (sizeof mark - 1);
	while (len > LOG_MESSAGE_MAX / 2 && ((uint8_t)message.ptr[len] & 0xc0) == 0x80)
		len--;
	memmove(room, message.ptr, len);
	memcpy(room + len, mark, sizeof mark - 1);
	return text_of(room, len + sizeof mark - 1);
}

static void write_line(enum log_level level, const struct log_origin *origin, struct text message)
{
	struct buf *out = &setup.line;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	buf_clear(out);
	if (setup.torn)
		buf_append_byte(out, '\n');
	if (setup.format == LOG_JSON)
		append_json_line(out, level, origin, message, &now);
	else
		append_text_line(out, level, origin, message, &now);
	buf_append_byte(out, '\n');
	if (out->failed || !write_whole(buf_text(out)))
		setup.lost++;
	buf_clear(out);
}

void log_line(enum log_level level, struct log_origin origin, const char *format, ...)
{
	if (!log_is_on(level))
		return;
	int saved = errno;
	char message[LOG_MESSAGE_MAX + 2]; /* one byte too long shows that it must be cut */
	va_list args;
	va_start(args, format);
	int len = vsnprintf(message, sizeof message, format, args);
	va_end(args);
	size_t count = len < 0 ? 0 : (size_t)len;
	if (count >= sizeof message)
		count = sizeof message - 1;
	write_line(level, &origin, cut(text_of(message, count), message));
	errno = saved;
}

void log_worker_line(struct log_origin origin, struct text line)
{
	if (!log_is_on(LOG_INFO))
		return;
	int saved = errno;
	char room[LOG_MESSAGE_MAX];
	write_line(LOG_INFO, &origin, cut(line, room));
	errno = saved;
}
