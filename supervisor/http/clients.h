/* The connections of the HTTP server: what each of them does, and how long it may. Layer: http,
 * private to http.c. The library owns the descriptors and frees a connection; until it has found
 * one closed, its place stays taken. */
#ifndef HTTP_CLIENTS_H
#define HTTP_CLIENTS_H

#include "base/list.h"
#include "base/mtime.h"

#include <stdbool.h>
#include <stdint.h>

enum http_client_state {
	HTTP_CLIENT_FREE,   /* no connection */
	HTTP_CLIENT_SILENT, /* it has not sent a whole request since its start or its last answer */
	HTTP_CLIENT_ANSWERED, /* its answer is being sent */
	HTTP_CLIENT_WAITING,  /* its answer waits for the handler, without a limit in time */
	HTTP_CLIENT_CLOSING,  /* it was shut down; the library finds that out */
	HTTP_CLIENT_STATES
};

/* Open; changed by clients.c, but for what is set when the connection is accepted. */
struct http_client {
	struct link place; /* in the list of its state, in the order in which they entered it */
	enum http_client_state state;
	bool is_refused;
	int fd; /* owned by the library */
	mtime since;
	uint64_t address; /* crowd_address */
};

struct http_clients;

/* places: at most CROWD_MAX. NULL: out of memory. */
struct http_clients *http_clients_new(unsigned places);
void http_clients_free(struct http_clients *);
/* The one that has been in that state for the longest time, or NULL. */
struct http_client *http_clients_first(const struct http_clients *, enum http_client_state);
void http_clients_enter(struct http_clients *, struct http_client *, enum http_client_state);
/* Shut down those whose time is over. In a crowd, when fewer than a quarter of the places are free,
 * answers have less of it, and at most max of the silent ones go, the oldest of the most frequent
 * address first. */
void http_clients_close_overdue(struct http_clients *, unsigned max);
/* How long until there is one to close; MTIME_NEVER: no time runs. May be negative. */
mtime http_clients_time_left(const struct http_clients *);

#endif
