/* Log lines in a pipe, for tests that look at them. */
#ifndef UNIT_SUPPORT_BASE_WRITTEN_H
#define UNIT_SUPPORT_BASE_WRITTEN_H

#include "base/log.h"

/* Pool fibonacci, slot 3, pid 4711, stderr. */
extern const struct log_origin written_worker;

/* The log goes to a new pipe, from info on; the other end of it. */
int written_open(enum log_format, bool colour);
/* What was written since the last look, NUL-terminated; until the next call. */
char *written_taken(int fd);
/* Of a text line, which must begin with "hh:mm:ss.mmm ", what follows. */
const char *written_after_time(const char *line);
/* A worker's line. */
void written_tell(struct log_origin, struct text);

#endif
