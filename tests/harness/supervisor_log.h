/* The log of the fixture's supervisor, read from its control socket, and a worker that writes to
 * it. Errors fail the test. */
#ifndef HARNESS_SUPERVISOR_LOG_H
#define HARNESS_SUPERVISOR_LOG_H

#include "harness/fixture.h"

#include <jansson.h>

/* Serve fixture.queue as pool p: a shell runs the script (which has no quotes) and then becomes an
 * echo worker. settings: further keys of the pool, each followed by a comma. Ready when this
 * returns. */
struct proc *supervisor_log_serve_script(const char *script, const char *settings);
/* Poll the log until a line contains the needle; all lines move out. */
char *supervisor_log_await(const char *needle);
/* The first of these lines that contains the needle, parsed as JSON. */
json_t *supervisor_log_find_line(const char *lines, const char *needle);

#endif
