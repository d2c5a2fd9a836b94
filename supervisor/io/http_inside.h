/* What the HTTP server's files share. Layer: io; its own. */
#ifndef IO_HTTP_INSIDE_H
#define IO_HTTP_INSIDE_H

#include "base/list.h"
#include "io/http.h"

#include <microhttpd.h>

#define LISTENERS_MAX 2

/* Place: in the free ones, or in those that wait, the one that waits for longest first; one that
 * follows an answer without an end is in neither. */
struct client {
	struct link place;
	int fd; /* the library's */
	mtime since;
};

struct http_stream {
	const struct http_pieces *pieces;
	void *ctx;
	struct buf made; /* and not sent yet */
	bool is_over;
	/* only of one that may wait */
	struct http *http;
	struct client *client;
	struct MHD_Connection *connection;
	struct link asleep; /* in http.asleep, or alone */
};

struct http {
	struct ev_loop *loop;
	http_handler *handler;
	void *ctx;
	struct MHD_Daemon *daemon;
	struct ev_io work; /* the library's epoll descriptor */
	struct ev_io listeners[LISTENERS_MAX];
	size_t listener_count;
	struct ev_timer timer; /* the end of a rest, or of somebody's time */
	bool rests;
	bool has_woken; /* somebody, since the library ran */
	bool is_ending;
	unsigned in_answer; /* requests */
	unsigned following;
	struct link asleep; /* streams */
	struct link free, waiting;
	struct client *arriving; /* while the library is told of it */
	struct client clients[HTTP_CLIENTS];
};

/* The library has something to do that no descriptor tells. */
void http_work_soon(struct http *);
/* Without memory for an answer (NULL) the library closes the connection, which is one. Moves in. */
void http_queue(const struct http_request *, unsigned status, const char *type, const char *allow,
	struct MHD_Response *);

#endif
