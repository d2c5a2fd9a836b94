/* An HTTP client for tests that shares nothing with the server under test: bytes to a socket, and
 * what comes back. Fails the test rather than returning an error; every wait has a deadline. */
#ifndef HARNESS_HTTP_H
#define HARNESS_HTTP_H

#include <stddef.h>

struct http_reply {
	int status; /* 0: closed without a word */
	char *head; /* status line and headers; owned */
	char *body; /* NUL-terminated; owned */
};

/* A connection: to a Unix socket's path, or to "127.0.0.1:PORT". */
int http_connect(const char *where);
/* All of it is taken by the socket. */
void http_send(int fd, const char *bytes, size_t len);
/* What comes until the peer closes; closes, too. */
struct http_reply http_read(int fd);
/* "METHOD PATH" by HTTP/1.0, so that the answer is in one piece and the connection ends. */
struct http_reply http_ask(const char *where, const char *method, const char *path);
/* A GET that must be answered by this status: its body, owned by the caller. */
char *http_get(const char *where, const char *path, int status);
void http_release(struct http_reply *);

#endif
