#include "harness/http.h"

#include "harness/deadline.h"
#include "harness/scratch.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A program that was started a moment ago, also after one that was killed, listens soon. */
static int connect_soon(int family, const struct sockaddr *name, socklen_t len, const char *where)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	for (;;) {
		int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		ck_assert_int_ge(fd, 0);
		if (connect(fd, name, len) == 0)
			return fd;
		ck_assert_msg(
			(errno == ECONNREFUSED || errno == ENOENT) && deadline_left(deadline) > 0,
			"cannot connect to %s: %s", where, strerror(errno));
		close(fd);
		poll(NULL, 0, 20);
	}
}

int http_connect(const char *where)
{
	const char *colon = strchr(where, ':');
	struct sockaddr_un path = {.sun_family = AF_UNIX};
	struct sockaddr_in port = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (!colon) {
		ck_assert_uint_lt(strlen(where), sizeof path.sun_path);
		strcpy(path.sun_path, where);
		return connect_soon(AF_UNIX, (struct sockaddr *)&path, sizeof path, where);
	}
	port.sin_port = htons((uint16_t)atoi(colon + 1));
	return connect_soon(AF_INET, (struct sockaddr *)&port, sizeof port, where);
}

void http_send(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);
		if (sent < 0) /* a peer that closes early has answered */
			return;
		bytes += sent;
		len -= (size_t)sent;
	}
}

static char *read_all(int fd)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	size_t len = 0, capacity = 65536;
	char *text = malloc(capacity);
	for (;;) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		ck_assert_msg(poll(&wait, 1, deadline_left(deadline)) == 1, "no answer in time");
		ssize_t got = read(fd, text + len, capacity - len - 1);
		if (got <= 0) /* a reset counts as an end: it was closed with bytes unread */
			break;
		len += (size_t)got;
		if (capacity - len < 4096)
			text = realloc(text, capacity *= 2);
	}
	text[len] = '\0';
	return text;
}

struct http_reply http_read(int fd)
{
	struct http_reply reply = {.head = read_all(fd)};
	char *end = strstr(reply.head, "\r\n\r\n");
	close(fd);
	reply.body = scratch_text("%s", end ? end + 4 : "");
	if (end)
		*end = '\0';
	if (sscanf(reply.head, "HTTP/1.%*d %d ", &reply.status) != 1)
		reply.status = 0;
	return reply;
}

struct http_reply http_request_with(
	const char *where, const char *method, const char *path, const char *headers)
{
	int fd = http_connect(where);
	char *request = scratch_text("%s %s HTTP/1.0\r\n%s\r\n", method, path, headers);
	http_send(fd, request, strlen(request));
	free(request);
	return http_read(fd);
}

struct http_reply http_request(const char *where, const char *method, const char *path)
{
	return http_request_with(where, method, path, "Host: wpool\r\n");
}

char *http_get(const char *where, const char *path, int status)
{
	struct http_reply reply = http_request(where, "GET", path);
	ck_assert_msg(reply.status == status, "GET %s: %d, not %d: %s", path, reply.status, status,
		reply.body);
	free(reply.head);
	return reply.body;
}

void http_release(struct http_reply *reply)
{
	free(reply->head);
	free(reply->body);
}
