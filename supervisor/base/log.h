/* Log lines for people (text) and programs (JSON). Layer: base.
 * One call, one line, one write; a message longer than LOG_MESSAGE_MAX is cut and says so. Never
 * waits for a reader: a line that does not fit is lost and counted, but kept like all the others
 * where that is asked for (log_ring.h). For one thread; errno survives every call. Credentials and
 * message bodies never get here: that is the callers' duty. */
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

/* Bytes of one message; what is longer ends in "[cut]". */
enum { LOG_MESSAGE_MAX = 16 * 1024 };

enum log_format { LOG_TEXT, LOG_JSON };

/* The task that a line is about: fields of their own in JSON, in text the message has the words.
 * Zero fields are left out. */
struct log_task {
	struct text name;
	unsigned attempt;
	const char *reason; /* an empty one is left out, too */
	int status;
	struct text trace; /* the trace id; hexadecimal digits */
};

/* Where a line comes from; zero fields are left out. */
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
/* "debug" and so on; false: it is none of them. */
bool log_level_find(const char *name, enum log_level *ret);

/* ---------- where lines go; process-wide ---------- */

/* Set once at the start. fd is borrowed. Of all levels of pools there are none then. */
void log_setup(int fd, enum log_level least, enum log_format, bool colour);
/* From now on the last lines, as JSON, are kept in so many bytes. False: out of memory, and they
 * are not. */
bool log_keep(size_t bytes);
/* NULL: they are not. */
const struct log_ring *log_kept(void);
/* on_line is called behind each line that is kept; it must not log. NULL ends that. */
void log_watch(void (*on_line)(void *ctx), void *ctx);

/* ---------- levels ---------- */

/* pool: NULL: of all, and what was set for pools is forgotten. False: out of memory. */
bool log_set_level(enum log_level, const char *pool);
/* pool: NULL: of what is set for none. */
enum log_level log_level_of(const char *pool);
bool log_is_on(enum log_level, const char *pool);
/* Pools with a level of their own, from 0 on; NULL: there are no more. Until the next
 * log_set_level. */
const char *log_level_pool(size_t i);

/* ---------- lines ---------- */

void log_line(enum log_level, struct log_origin, const char *format, ...) PRINTF_LIKE(3, 4);
/* A worker's own line, as it came: any bytes, no newline. One that is a JSON object stays one, and
 * counts as what it says of itself, the others as LOG_INFO. is_cut: there was more of it, so it is
 * marked, and no object. What can harm a terminal, and bad UTF-8, is written as what can not. */
struct log_worker_line {
	struct text text;
	enum log_level level;
	bool is_object;
	bool is_cut;
};
struct log_worker_line log_worker_line(struct text, bool is_cut);
void log_tell_worker_line(struct log_origin, const struct log_worker_line *);
/* How many lines could not be written (a full pipe, a full disk). When lines can be again, the
 * first says so. */
uint64_t log_lost(void);

#define log_debug(...) log_line(LOG_DEBUG, LOG_ORIGIN_NONE, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, LOG_ORIGIN_NONE, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, LOG_ORIGIN_NONE, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, LOG_ORIGIN_NONE, __VA_ARGS__)

#endif
