/* The client of a supervisor's control socket. Layer: client. One request at a time, on a
 * connection that is kept. The caller can wait for its own descriptors at the same time. Prints
 * nothing. libcurl is loaded at the first use, so that `serve` does not have it and its thirty
 * libraries in memory. */
#ifndef CLIENT_API_CLIENT_H
#define CLIENT_API_CLIENT_H

#include "base/buf.h"
#include "http/control_path.h"
#include "os/peer_process.h"

#include <curl/curl.h>
#include <jansson.h>

/* How long until_exit waits after the answer. */
#define API_CLIENT_EXIT_LIMIT_S 10

struct api_request {
	bool is_post;     /* without a body */
	const char *path; /* a * in it is replaced by the pool */
	const char *pool; /* put into the query if the path has no *; NULL: all */
	bool is_long;     /* the answer may last any time */
	bool until_exit;  /* with status 200, the result is there when the supervisor has gone */
	/* If not NULL, called for each line of an answer with status 200; the answer is not kept
	 * and may last any time. Return false to end it. */
	bool (*on_line)(void *ctx, struct text line);
	void *ctx;
};

struct api_client {
	/* the result, once api_client_wait has returned true */
	int exit_code;     /* EX_OK; 69: no supervisor listens, or no answer; 77: no permission; for
			      HTTP status 400: 64, 404: 65, 409: 75, 422: 78, others:
			      69 */
	bool is_absent;    /* no supervisor listens there */
	bool is_outlived;  /* with until_exit: the supervisor has not gone within the limit */
	long status;       /* of HTTP; 0: there was no answer */
	struct buf answer; /* its body */
	struct buf problem; /* what went wrong, a text; empty with EX_OK */

	/* private */
	struct curl *curl; /* the functions of the library */
	CURLM *multi;
	CURL *handle;
	const char *socket; /* borrowed */
	struct control_paths paths;
	size_t at; /* the path whose supervisor answered last */
	size_t tried;
	struct api_request request;
	CURLcode start_error; /* why the request could not be sent */
	int socket_fd;        /* of the connection, owned by the library */
	struct peer_process peer;
	bool is_sent, has_enough;
};

/* socket: borrowed; NULL: WPOOL_CONTROL_SOCKET, else the default paths. RC_NOT_FOUND: no libcurl,
 * RC_MEMORY; then *ret_why is the text, static, and there is nothing to release. */
enum rc api_client_init(struct api_client *, const char *socket, const char **ret_why) MUST_CHECK;
void api_client_release(struct api_client *);
/* Append a text to a path as a part of its query. */
void api_append_query_value(struct buf *path, struct text);
/* Send a request; its texts are borrowed until the result. No other request may be open. */
void api_client_send(struct api_client *, const struct api_request *);
/* Wait until the result is there, one of fds is readable, or timeout_ms have passed. True: the
 * result is there. */
bool api_client_wait(struct api_client *, struct curl_waitfd fds[], unsigned count, int timeout_ms);
/* Send and wait for the result, and with until_exit for the end of the supervisor's process.
 * Returns its exit code. */
int api_client_ask(struct api_client *, const struct api_request *);
/* Parse the answer; the caller owns the result. NULL: it is not JSON. */
json_t *api_client_json(const struct api_client *);

#endif
