/* An HTTP client that shares no code with the server under test: it writes bytes to a socket and
 * reads the response. Errors fail the test; every wait has a deadline. */
#ifndef HARNESS_HTTP_H
#define HARNESS_HTTP_H

#include <stddef.h>

struct http_reply {
	int status; /* 0: closed without a response */
	char *head; /* status line and headers; owned */
	char *body; /* NUL-terminated; owned */
};

/* Connect to a Unix socket's path or to "127.0.0.1:PORT". */
int http_connect(const char *where);
/* Write all of it. */
void http_send(int fd, const char *bytes, size_t len);
/* Read until the peer closes, then close. */
struct http_reply http_read(int fd);
/* Send "METHOD PATH" by HTTP/1.0, so that the response is in one piece and the connection ends. */
struct http_reply http_request(const char *where, const char *method, const char *path);
/* The same with the lines of headers given, each with its CR LF. */
struct http_reply http_request_with(
	const char *where, const char *method, const char *path, const char *headers);
/* The body of a GET that must have this status; moves out. */
char *http_get(const char *where, const char *path, int status);
void http_release(struct http_reply *);

#endif
