/* An HTTP server at a socket of its own, in a loop that the test turns, and its clients. */
#ifndef UNIT_SUPPORT_HTTP_HTTP_RIG_H
#define UNIT_SUPPORT_HTTP_HTTP_RIG_H

#include "http/http.h"
#include "http/listener.h"
#include "os/loop.h"
#include "unit/unit.h"

extern struct ev_loop *loop;
extern struct http *http;
extern struct listener listener; /* at the socket */

/* places: connections at once. Fixture of a test case, with http_rig_end. */
void http_rig_begin(unsigned places, void (*on_request)(void *ctx, const struct http_request *));
void http_rig_end(void);
/* Return a connection to the socket that does not block. */
int http_rig_connect(void);

#endif
