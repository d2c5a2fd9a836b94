/* One HTTP request to a supervisor's control socket, as libcurl is told of it. Layer: cli.
 * Nothing is asked here, and nothing said: that is for who waits for the answer (inquiry.h), or
 * does not (top_link.h). */
#ifndef CLI_QUESTION_H
#define CLI_QUESTION_H

#include "base/buf.h"
#include "cli/curl.h"
#include "io/control_path.h"

/* All borrowed; out until the answer is there. */
struct question {
	const char *socket; /* its path */
	const char *method; /* NULL: GET; else a POST of nothing, which all of ours are */
	const char *path;   /* a * in it is the pool */
	const char *pool;   /* where there is no * it goes into the query; NULL: all */
	long timeout_ms;    /* 0: none */
	struct buf *out;    /* what is answered is appended */
	/* NULL, or called each time that there is more in out, which it may consume; false: no more
	 * is wanted. */
	bool (*on_more)(void *ctx);
	void *ctx;
};

/* Where supervisors may listen, in the order of trying. socket: what the command line says; NULL:
 * WPOOL_CONTROL_SOCKET tells, else it is looked for where it is by default. */
struct control_paths question_paths(const char *socket);
/* "PATH or PATH", of the same. */
void question_append_places(const char *socket, const struct control_paths *, struct buf *out);
/* Sets all options of the handle, which may have been used for another one. The question is
 * borrowed until its answer is there. */
CURLcode question_put(const struct question *, const struct curl *, CURL *handle);

#endif
