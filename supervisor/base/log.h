/* Log lines for people (text) and programs (JSON). Layer: base. One call makes one line and one
 * write; a message longer than LOG_MESSAGE_MAX is cut and marked. Never blocks: a line that does
 * not fit is dropped and counted, but still kept in the ring (log_ring.h). For one thread; errno
 * survives every call. Callers never pass credentials or message bodies. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/rc.h"
#include "base/text.h"

#define LOG_LEVELS(X)                                                                              \
	X(LOG_DEBUG, "debug")                                                                      \
	X(LOG_INFO, "info")                                                                        \
	X(LOG_WARN, "warn")                                                                        \
	X(LOG_ERROR, "error")

enum log_level {
#define X(level, name) level,
	LOG_LEVELS(X)
#undef X
};

/* Bytes of one message; a longer one ends in "[cut]". */
enum { LOG_MESSAGE_MAX = 16 * 1024 };
/* Bytes of one line: control characters take six bytes each in JSON, and each member of a worker's
 * object that has one of our names gets a prefix. */
enum { LOG_LINE_MAX = 6 * LOG_MESSAGE_MAX + 1024 };

enum log_format { LOG_TEXT, LOG_JSON };

/* The task that a line is about: separate fields in JSON; in text the message names it. Zero
 * fields are left out. */
struct log_task {
	struct text name;
	unsigned attempt;
	const char *reason; /* left out if empty */
	int status;
	struct text trace; /* the trace id, in hexadecimal */
};

/* The origin of a line; zero fields are left out. */
struct log_origin {
	const char *pool;            /* NULL: the supervisor itself */
	int slot;                    /* from 0; -1: none */
	int pid;                     /* 0: none */
	const char *stream;          /* "stdout", "stderr" for a worker's own line; else NULL */
	const struct log_task *task; /* NULL: none, or several */
};

#define LOG_ORIGIN_NONE ((struct log_origin){.slot = -1})

/* "debug", "info", ...; never NULL. */
const char *log_level_name(enum log_level);
/* Find a level by its name; false: unknown. */
bool log_level_find(const char *name, enum log_level *ret);

/* ---------- where lines go; process-wide ---------- */

/* Set up the log, once at the start; no pool has a level of its own. fd is borrowed. */
void log_setup(int fd, enum log_level min, enum log_format, bool colour);
/* Keep the last lines, as JSON, in so many bytes from now on. False: out of memory. */
bool log_keep_lines(size_t bytes);
/* NULL: lines are not kept. */
const struct log_ring *log_kept_lines(void);
/* Call on_line after each line that is kept; it must not log. NULL: stop. */
void log_watch(void (*on_line)(void *ctx), void *ctx);

/* ---------- levels ---------- */

/* Set the level of a pool; NULL: of everything, which clears the levels of pools. False: out of
 * memory. */
bool log_set_level(enum log_level, const char *pool);
/* The level of a pool; NULL: the general one. */
enum log_level log_level_of(const char *pool);
bool log_is_on(enum log_level, const char *pool);
/* The i-th pool, from 0, that has a level of its own; NULL: no more. Valid until the next
 * log_set_level. */
const char *log_level_pool(size_t i);

/* ---------- lines ---------- */

void log_line(enum log_level, struct log_origin, const char *format, ...) PRINTF_LIKE(3, 4);
/* Log a worker's own line: any bytes, no newline. A JSON object keeps its members and its own
 * level; any other line is LOG_INFO. is_cut: the line was longer, so it is marked and not
 * treated as an object. Control characters and invalid UTF-8 are replaced. */
struct log_worker_line {
	struct text text;
	enum log_level level;
	bool is_object;
	bool is_cut;
};
struct log_worker_line log_worker_line(struct text, bool is_cut);
/* Return its size in the log in bytes, at most LOG_LINE_MAX; 0: it is below the level. */
size_t log_write_worker_line(struct log_origin, const struct log_worker_line *);
/* How many lines could not be written (a full pipe or disk). The next line that can be written is
 * preceded by one with their number. */
uint64_t log_lost(void);

#define log_debug(...) log_line(LOG_DEBUG, LOG_ORIGIN_NONE, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, LOG_ORIGIN_NONE, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, LOG_ORIGIN_NONE, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, LOG_ORIGIN_NONE, __VA_ARGS__)

#endif
