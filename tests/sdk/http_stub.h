/* An HTTP server on loopback for the checks of the sample that fetches, in a process of its own.
 * The path of a request decides the response:
 *   /hello    200 "hello"            /missing  404      /broken  503
 *   /moved    302 to /hello          /cut      200, which ends before its length
 *   /large    200 with 17 MiB        /hang     none
 *   /together 200 "together", when as many requests for it wait as the server was started with */
#ifndef SDK_HTTP_STUB_H
#define SDK_HTTP_STUB_H

#include <sys/types.h>

struct http_stub {
	pid_t pid;
	int life; /* the server ends when this is closed */
	int port;
};

void http_stub_start(struct http_stub *, int together);
void http_stub_stop(struct http_stub *);

#endif
