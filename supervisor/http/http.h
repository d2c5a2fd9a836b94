/* A small HTTP server inside the loop, for the control API. Layer: http.
 * Runs libmicrohttpd on its own epoll descriptor, without threads. It cannot delay the loop or the
 * messages: connections are bounded and have time limits, requests and pieces of answers are small,
 * and it uses at most a twentieth of the time. */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include "base/buf.h"
#include "base/mtime.h"
#include "http/crowd.h"

#include <ev.h>

/* Connections at once: no supervisor needs more. Others wait to be accepted. */
#define HTTP_CLIENTS_MAX CROWD_MAX
/* How long a connection may be without a whole request, from its start or its last answer, and how
 * long its answer may take; the latter in a crowd, when three quarters of the places are in use. */
#define HTTP_SILENCE         (10 * MTIME_SECOND)
#define HTTP_SILENCE_CROWDED MTIME_SECOND
/* In a crowd connections without a whole request are closed, the oldest of the most frequent
 * address first, but none that is younger than this. */
#define HTTP_SILENCE_MIN (100 * MTIME_MS)
/* Bytes of a request's line and headers, and of what is sent of an answer in one turn. */
#define HTTP_MEMORY (16 * 1024)
#define HTTP_PIECE  8192
/* The maximum time between two checks of a waiting answer and of its peer. */
#define HTTP_LOOK MTIME_SECOND

/* Requests that may have a body, or an answer that comes later, at once. */
#define HTTP_EXCHANGES_MAX 64

struct http;

/* A request whose body is read, and whose answer may come later. */
struct http_exchange;

/* Valid during the handler's call. */
struct http_request {
	struct MHD_Connection *connection; /* the library's */
	struct http *http;
	const char *method, *path, *version; /* "HTTP/1.1" */
	bool is_local;   /* it came by a Unix socket: the peer is our own user, or an operator */
	bool is_refused; /* http_set_admission: its connection is not admitted */
	struct http_exchange *exchange; /* NULL: its body was not asked for */
	struct text body; /* with an exchange; lives until the answer, as do the queries' values */
	/* It may control pools and see texts of messages. Set by the handler's own rules: false
	 * here. */
	bool is_operator;
};

/* Handle a request: must call one of the http_answer functions below. */
typedef void http_handler(void *ctx, const struct http_request *);
/* Whether the peer of this Unix connection, which has just been accepted, is admitted. */
typedef bool http_admits(void *ctx, int fd);

/* An answer that is made while it is sent. */
struct http_pieces {
	/* Append the next piece, at most some kilobytes; false: it was the last one. It may append
	 * nothing and return true after a millisecond of work: it is called again soon. */
	bool (*next)(void *ctx, struct buf *out);
	void (*end)(void *ctx); /* called after the last piece, or earlier if the peer has gone */
	/* True: there is no piece now, but there may be one later. NULL: there always is one. */
	bool (*waits)(void *ctx);
};

/* places: connections at once, 1 to HTTP_CLIENTS_MAX. NULL: no memory, or the kernel refuses what
 * it needs. */
struct http *http_new(struct ev_loop *, unsigned places, http_handler *, void *ctx);
/* Ask this, with the handler's ctx, about each connection by a Unix socket. */
void http_set_admission(struct http *, http_admits *);
/* End the answers that wait for more, and send the others; for at most span. Accepts nothing;
 * afterwards only http_free may be called. */
void http_finish(struct http *, mtime span);
/* Closes all connections; the listeners belong to their owners. */
void http_free(struct http *);
/* fd: of a listener that lives until http_free; at most two. */
void http_listen(struct http *, int fd);

/* The value of that name in the query, or NULL. */
const char *http_query(const struct http_request *, const char *name);
/* The same with its length, because it may have a NUL ("%00"); TEXT_NONE: there is none. */
struct text http_query_text(const struct http_request *, const char *name);
/* Call for each parameter of the query, in order; a value without "=" is TEXT_NONE. */
void http_each_query(const struct http_request *,
	void (*each)(void *ctx, struct text name, struct text value), void *ctx);
/* Ask for the body, of at most max bytes, in place of an answer: the handler is called again with
 * the exchange when all of it is there. If it is longer, http answers with 413 itself. False: there
 * are HTTP_EXCHANGES_MAX already, or no memory. */
bool http_read_body(const struct http_request *, size_t max) MUST_CHECK;
/* The answer follows by http_answer_later, which must be called before http_finish or http_free.
 */
void http_defer(const struct http_request *);
/* As http_answer. type: static. Out of memory, the connection is closed. */
void http_answer_later(struct http_exchange *, unsigned status, const char *type, struct text body);
/* The value of that header, or NULL. */
const char *http_header(const struct http_request *, const char *name);
/* How many headers have that name, also with blanks before the colon (RFC 9112, 5.1), which
 * http_header does not find. */
unsigned http_header_count(const struct http_request *, const char *name);
/* allow: the methods, for status 405; else NULL. type is static. Copies body. */
void http_answer(const struct http_request *, unsigned status, const char *type, struct text body,
	const char *allow);
/* Status 200; body is static and not copied. policy: what the browser may load and run for it
 * (Content-Security-Policy). */
void http_answer_page(
	const struct http_request *, const char *type, struct text body, const char *policy);
/* Status 200; ctx moves in. */
void http_answer_in_pieces(
	const struct http_request *, const char *type, const struct http_pieces *, void *ctx);
/* Check the answers that wait: there may be more for them. Cheap if none waits; may be called from
 * anywhere in the loop. */
void http_wake(struct http *);
/* The number of answers with .waits. Each keeps its connection, so there should not be many. */
unsigned http_waiting_answers(const struct http_request *);

#endif
