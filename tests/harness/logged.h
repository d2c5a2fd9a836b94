/* The log of the site's supervisor, as its control socket tells it, and a worker that writes. Fails
 * the test rather than returning an error. */
#ifndef HARNESS_LOGGED_H
#define HARNESS_LOGGED_H

#include "harness/site.h"

#include <jansson.h>

/* Serves site.queue as pool p: a shell that first runs this, which has no quote, with its stdout
 * and stderr, and then becomes an echo worker. settings: more keys of the pool, each followed by a
 * comma. It is ready. */
struct proc *logged_serve_script(const char *script, const char *settings);
/* Asks for the lines until one holds the needle: all of them, owned by the caller. */
char *logged_await(const char *needle);
/* The first of these lines that holds it, which must be JSON. */
json_t *logged_line_with(const char *lines, const char *needle);

#endif
