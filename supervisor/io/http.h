/* A small HTTP server inside the loop, for those who watch and steer. Layer: io.
 * libmicrohttpd on its own epoll descriptor, never a thread. It can not hold up the loop or the
 * messages: it has few connections, each for a bounded time, requests and pieces of answers are
 * small, and of the time that passes it takes a twentieth at most; who asks for more waits. */
#ifndef IO_HTTP_H
#define IO_HTTP_H

#include "base/buf.h"
#include "base/mtime.h"

#include <ev.h>

/* Connections at once. The others wait to be taken, and where there is no place for them one that
 * has been silent for HTTP_PATIENCE goes. */
#define HTTP_CLIENTS  32
#define HTTP_PATIENCE MTIME_SECOND
/* From a connection's begin, or from its last answer, to its next one. */
#define HTTP_TIME (10 * MTIME_SECOND)
/* Bytes of a request's line and headers, and of what is sent of an answer in one turn. */
#define HTTP_MEMORY (16 * 1024)
#define HTTP_PIECE  8192
/* How often, at least, one that waits is asked again, and looked at whether somebody still listens.
 */
#define HTTP_LOOK MTIME_SECOND

struct http;

/* Borrowed for the call. */
struct http_request {
	struct MHD_Connection *connection; /* http.c's own */
	struct http *http;
	const char *method, *path;
	bool is_local; /* it came by a Unix socket: who asks has our rights */
};

/* Must answer, by one of the calls below. */
typedef void http_handler(void *ctx, const struct http_request *);

/* An answer that is made while it is sent. */
struct http_pieces {
	/* Appends the next piece, of some kilobytes at most; false: there is none any more. */
	bool (*next)(void *ctx, struct buf *out);
	void (*end)(void *ctx); /* after the last one, or before, when nobody wants more */
	/* True: there is nothing now, and there may be later. NULL: there always is. */
	bool (*waits)(void *ctx);
};

/* NULL: no memory, or the kernel refuses what it needs. */
struct http *http_new(struct ev_loop *, http_handler *, void *ctx);
/* Whoever waits for more hears that there is none, and what is being answered is sent; for at most
 * span. Nothing is accepted, and afterwards only http_free makes sense. */
void http_finish(struct http *, mtime span);
/* Ends all connections; the listeners are their owners'. */
void http_free(struct http *);
/* fd: of a listener that lives until http_free; at most two. */
void http_listen(struct http *, int fd);

/* The query's value of that name; NULL: it has none. */
const char *http_query(const struct http_request *, const char *name);
/* The value of that header; NULL: the request has none. */
const char *http_header(const struct http_request *, const char *name);
/* allow: of 405, the methods; else NULL. type is static. Copies. */
void http_answer(const struct http_request *, unsigned status, const char *type, struct text body,
	const char *allow);
/* Status 200; body is static and not copied. policy: what a browser may do with it
 * (Content-Security-Policy); it is told to keep to itself whence it comes, too. */
void http_answer_page(
	const struct http_request *, const char *type, struct text body, const char *policy);
/* Status 200; ctx moves in. */
void http_answer_in_pieces(
	const struct http_request *, const char *type, const struct http_pieces *, void *ctx);
/* There may be more now for those who wait. Costs nothing where nobody does; callable from anywhere
 * in the loop. */
void http_wake(struct http *);
/* How many answers with .waits there are. Each keeps its place, so there should not be too many. */
unsigned http_following(const struct http_request *);

#endif
