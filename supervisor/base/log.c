#include "base/log.h"

#include "base/json_walk.h"
#include "base/log_format.h"
#include "base/log_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINE_RESERVED = 4096 };

struct pool_level_entry {
	char *pool; /* owned */
	enum log_level level;
};

static struct {
	int fd;     /* borrowed, or opened */
	int opened; /* owned: our own descriptor of fd's terminal, or -1 */
	enum log_level min;
	struct pool_level_entry *own; /* owned; of pools */
	size_t own_count;
	enum log_level lowest; /* of all pools */
	enum log_format format;
	bool colour;
	size_t piece;          /* upper bound of one write, in bytes */
	bool torn;             /* the last line was written in part; its newline is missing */
	uint64_t lost, untold; /* and not yet reported */
	struct buf line;       /* JSON */
	struct buf shown;      /* the text form, if that is written */
	struct log_ring *ring; /* owned, or NULL */
	void (*on_line)(void *ctx);
	void *ctx;
} setup = {.fd = STDERR_FILENO,
	.opened = -1,
	.min = LOG_INFO,
	.lowest = LOG_INFO,
	.piece = PIPE_BUF,
	.line = {.limit = LOG_LINE_MAX},
	.shown = {.limit = LOG_LINE_MAX}};

const char *log_level_name(enum log_level level)
{
	static const char *const names[] = {
#define X(value, name) [value] = name,
		LOG_LEVELS(X)
#undef X
	};
	return names[level];
}

bool log_level_find(const char *name, enum log_level *ret)
{
	for (enum log_level level = LOG_DEBUG; level <= LOG_ERROR; level++) {
		if (strcmp(name, log_level_name(level)) == 0) {
			*ret = level;
			return true;
		}
	}
	return false;
}

/* ---------- where lines go ---------- */

/* A terminal is writable for poll when one byte fits, and a longer write blocks, so O_NONBLOCK
 * is needed. On fd it would affect every process that shares it, such as the shell; so the
 * terminal is opened a second time. */
static int open_terminal(int fd)
{
	char name[32];
	if (!isatty(fd))
		return -1;
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	return open(name, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* A writable pipe takes PIPE_BUF bytes without blocking; a longer line is written in pieces. A
 * file never blocks, so it gets whole lines. A terminal that could not be opened a second time
 * gets what certainly fits. */
static size_t piece_size(int fd, bool is_opened)
{
	struct stat st;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return LOG_LINE_MAX;
	return isatty(fd) && !is_opened ? 1 : PIPE_BUF;
}

/* Reserved now, so that lines can be written when memory has run out. */
static void reserve(struct buf *line)
{
	buf_clear(line);
	if (!buf_reserve(line, LINE_RESERVED))
		buf_clear(line);
}

void log_setup(int fd, enum log_level min, enum log_format format, bool colour)
{
	int saved = errno;
	if (setup.opened >= 0)
		close(setup.opened);
	setup.opened = open_terminal(fd);
	setup.piece = piece_size(fd, setup.opened >= 0);
	setup.fd = setup.opened >= 0 ? setup.opened : fd;
	(void)log_set_level(min, NULL);
	setup.format = format;
	setup.colour = colour;
	setup.torn = false;
	reserve(&setup.line);
	reserve(&setup.shown);
	errno = saved;
}

bool log_keep_lines(size_t bytes)
{
	log_ring_free(setup.ring);
	setup.ring = bytes ? log_ring_new(bytes) : NULL;
	return setup.ring;
}

const struct log_ring *log_kept_lines(void)
{
	return setup.ring;
}

void log_watch(void (*on_line)(void *ctx), void *ctx)
{
	setup.on_line = on_line;
	setup.ctx = ctx;
}

/* ---------- levels ---------- */

static struct pool_level_entry *pool_level(const char *pool)
{
	for (size_t i = 0; pool && i < setup.own_count; i++)
		if (strcmp(setup.own[i].pool, pool) == 0)
			return &setup.own[i];
	return NULL;
}

static void clear_pool_levels(void)
{
	while (setup.own_count > 0)
		free(setup.own[--setup.own_count].pool);
	free(setup.own);
	setup.own = NULL;
}

/* NULL: out of memory. */
static struct pool_level_entry *add_pool_level(const char *pool)
{
	char *copy = strdup(pool);
	struct pool_level_entry *more =
		copy ? realloc(setup.own, (setup.own_count + 1) * sizeof *more) : NULL;
	if (!more) {
		free(copy);
		return NULL;
	}
	setup.own = more;
	more[setup.own_count].pool = copy;
	return &more[setup.own_count++];
}

bool log_set_level(enum log_level level, const char *pool)
{
	struct pool_level_entry *own = pool_level(pool);
	if (!pool) {
		clear_pool_levels();
		setup.min = level;
	} else {
		own = own ? own : add_pool_level(pool);
		if (!own)
			return false;
		own->level = level;
	}
	setup.lowest = setup.min;
	for (size_t i = 0; i < setup.own_count; i++)
		if (setup.own[i].level < setup.lowest)
			setup.lowest = setup.own[i].level;
	return true;
}

enum log_level log_level_of(const char *pool)
{
	const struct pool_level_entry *own = pool_level(pool);
	return own ? own->level : setup.min;
}

const char *log_level_pool(size_t i)
{
	return i < setup.own_count ? setup.own[i].pool : NULL;
}

/* The common case, no, takes one comparison. */
bool log_is_on(enum log_level level, const char *pool)
{
	return level >= setup.lowest && level >= log_level_of(pool);
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

/* False: not everything was written. */
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

/* ---------- lines ---------- */

/* The message if it fits, else its first whole characters and a mark, in buffer. is_cut: always
 * with the mark. */
static struct text cut(struct text message, bool is_cut, char buffer[LOG_MESSAGE_MAX])
{
	static const char mark[] = " [cut]";
	size_t len = LOG_MESSAGE_MAX - (sizeof mark - 1);
	if (!is_cut && message.len <= LOG_MESSAGE_MAX)
		return message;
	if (len < message.len)
		while (len > LOG_MESSAGE_MAX / 2 && ((uint8_t)message.ptr[len] & 0xc0) == 0x80)
			len--;
	else
		len = message.len;
	memmove(buffer, message.ptr, len);
	memcpy(buffer + len, mark, sizeof mark - 1);
	return text_of(buffer, len + sizeof mark - 1);
}

static void keep_line(const struct log_entry *entry, struct text json)
{
	const struct log_origin *origin = entry->origin;
	struct log_record record = {.level = entry->level,
		.pool = text_from(origin->pool),
		.slot = origin->slot,
		.line = json};
	if (!setup.ring || !log_ring_add(setup.ring, &record))
		return;
	if (setup.on_line)
		setup.on_line(setup.ctx);
}

/* False: it was not written as a whole. *ret_size: its bytes. */
static bool show_line(struct text json, size_t *ret_size)
{
	struct buf *out = &setup.shown;
	buf_clear(out);
	if (setup.torn)
		buf_append_byte(out, '\n');
	if (setup.format == LOG_JSON)
		buf_append_text(out, json);
	else
		log_append_text(out, json, setup.colour);
	buf_append_byte(out, '\n');
	bool is_whole = !out->failed && write_whole(buf_text(out));
	*ret_size = buf_len(out);
	buf_clear(out);
	return is_whole;
}

/* If lines were lost, write a line with their number before the next one. */
static bool write_lost_count(const struct timespec *now)
{
	static const struct log_origin no_origin = {.slot = -1};
	char message[80];
	int len = snprintf(message, sizeof message,
		"%llu log lines were lost here: stderr could not be written",
		(unsigned long long)setup.untold);
	struct buf *out = &setup.line;
	buf_clear(out);
	log_append_json(out, &(struct log_entry){.at = *now,
				     .level = LOG_WARN,
				     .origin = &no_origin,
				     .message = text_of(message, (size_t)len)});
	size_t size;
	bool is_shown = !out->failed && show_line(buf_text(out), &size);
	if (is_shown)
		setup.untold = 0;
	return is_shown;
}

/* Return its size. */
static size_t write_entry(struct log_entry *entry)
{
	struct buf *out = &setup.line;
	size_t size = 0;
	clock_gettime(CLOCK_REALTIME, &entry->at);
	bool can_be_shown = setup.untold == 0 || write_lost_count(&entry->at);
	buf_clear(out);
	log_append_json(out, entry);
	if (out->failed || !can_be_shown || !show_line(buf_text(out), &size)) {
		setup.lost++;
		setup.untold++;
	}
	if (!out->failed)
		keep_line(entry, buf_text(out));
	buf_clear(out);
	return size;
}

void log_line(enum log_level level, struct log_origin origin, const char *format, ...)
{
	if (!log_is_on(level, origin.pool))
		return;
	int saved = errno;
	char message[LOG_MESSAGE_MAX + 2]; /* one byte more shows that it must be cut */
	va_list args;
	va_start(args, format);
	int len = vsnprintf(message, sizeof message, format, args);
	va_end(args);
	size_t count = len < 0 ? 0 : (size_t)len;
	if (count >= sizeof message)
		count = sizeof message - 1;
	write_entry(&(struct log_entry){.level = level,
		.origin = &origin,
		.message = cut(text_of(message, count), false, message)});
	errno = saved;
}

struct log_worker_line log_worker_line(struct text text, bool is_cut)
{
	struct log_worker_line line = {.text = text, .level = LOG_INFO, .is_cut = is_cut};
	line.is_object = !is_cut && text.len <= LOG_MESSAGE_MAX && json_walk_is_object(text);
	if (line.is_object)
		line.level = log_object_level(text);
	return line;
}

size_t log_write_worker_line(struct log_origin origin, const struct log_worker_line *line)
{
	if (!log_is_on(line->level, origin.pool))
		return 0;
	int saved = errno;
	char buffer[LOG_MESSAGE_MAX];
	size_t size = write_entry(&(struct log_entry){.level = line->level,
		.origin = &origin,
		.message = line->is_object ? line->text : cut(line->text, line->is_cut, buffer),
		.is_object = line->is_object});
	errno = saved;
	return size;
}
