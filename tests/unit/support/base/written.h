/* Log lines in a pipe, for tests that look at them. */
#ifndef UNIT_SUPPORT_BASE_WRITTEN_H
#define UNIT_SUPPORT_BASE_WRITTEN_H

#include "base/log.h"

/* Pool fibonacci, slot 3, pid 4711, stderr. */
extern const struct log_origin written_worker;

/* Send the log to a new pipe, at level info. Return the other end. */
int written_open(enum log_format, bool colour);
/* The bytes written since the last call, NUL-terminated; valid until the next call. */
char *written_taken(int fd);
/* The rest of a text line after "hh:mm:ss.mmm ", with which it must begin. */
const char *written_after_time(const char *line);
/* Log a worker's line. */
void written_tell(struct log_origin, struct text);

#endif
