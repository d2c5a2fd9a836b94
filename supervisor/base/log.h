/* Log lines for people (text) and programs (JSON). Layer: base.
 * One call, one line, one write; a message longer than LOG_MESSAGE_MAX is cut and says so. Never
 * waits for a reader: a line that does not fit is lost and counted. For one thread; errno survives
 * every call. Credentials and message bodies never get here: that is the callers' duty. */
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
/* Process-wide, set once at start and again when an operator changes the level. fd is borrowed. */
void log_setup(int fd, enum log_level least, enum log_format, bool colour);
bool log_is_on(enum log_level);
void log_line(enum log_level, struct log_origin, const char *format, ...) PRINTF_LIKE(3, 4);
/* A worker's own line, as it came: any bytes, no newline. Counts as LOG_INFO. Control characters
 * and bad UTF-8 are written as what cannot harm a terminal. */
void log_worker_line(struct log_origin, struct text line);
/* How many lines could not be written (a full pipe, a full disk). */
uint64_t log_lost(void);

#define log_debug(...) log_line(LOG_DEBUG, LOG_ORIGIN_NONE, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, LOG_ORIGIN_NONE, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, LOG_ORIGIN_NONE, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, LOG_ORIGIN_NONE, __VA_ARGS__)

#endif
