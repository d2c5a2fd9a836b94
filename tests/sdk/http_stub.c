#include "sdk/http_stub.h"

#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENTS_MAX  512
#define REQUEST_SIZE 2048
#define LARGE        (17u << 20)

struct client {
	size_t len;
	bool waits; /* for the others of /together */
	char request[REQUEST_SIZE];
};

struct server {
	int together, waiting;
	struct pollfd fds[2 + CLIENTS_MAX]; /* life, the listener, clients */
	struct client clients[CLIENTS_MAX];
};

static void respond(struct server *server, int i, const char *status, const char *rest)
{
	struct client *client = &server->clients[i];
	dprintf(server->fds[2 + i].fd, "HTTP/1.1 %s\r\n%s", status, rest);
	client->len = 0;
	client->waits = false;
}

static void drop(struct server *server, int i)
{
	close(server->fds[2 + i].fd);
	server->fds[2 + i].fd = -1;
	server->waiting -= server->clients[i].waits;
	server->clients[i] = (struct client){.len = 0};
}

/* curl closes the connection before the end of it. */
static void respond_large(struct server *server, int i)
{
	char *body = calloc(1, LARGE);
	int fd = server->fds[2 + i].fd;
	dprintf(fd, "HTTP/1.1 200 OK\r\n\r\n");
	for (size_t done = 0; body && done < LARGE;) {
		ssize_t put = write(fd, body + done, LARGE - done);
		if (put < 0)
			break;
		done += (size_t)put;
	}
	free(body);
	drop(server, i);
}

static void wait_for_others(struct server *server, int i)
{
	server->clients[i].waits = true;
	if (++server->waiting < server->together)
		return;
	for (int other = 0; other < CLIENTS_MAX; other++)
		if (server->fds[2 + other].fd >= 0 && server->clients[other].waits)
			respond(server, other, "200 OK", "Content-Length: 8\r\n\r\ntogether");
	server->waiting = 0;
}

static void act(struct server *server, int i)
{
	static const struct {
		const char *path, *status, *rest;
	} responses[] = {
		{"/hello", "200 OK", "Content-Length: 5\r\n\r\nhello"},
		{"/missing", "404 Not Found", "Content-Length: 2\r\n\r\nno"},
		{"/broken", "503 Service Unavailable", "Content-Length: 0\r\n\r\n"},
		{"/moved", "302 Found", "Location: /hello\r\nContent-Length: 0\r\n\r\n"},
		{"/cut", "200 OK", "Content-Length: 10\r\n\r\nhal"},
	};
	char path[64] = "";
	sscanf(server->clients[i].request, "GET %63s", path);
	if (strcmp(path, "/together") == 0)
		wait_for_others(server, i);
	else if (strcmp(path, "/large") == 0)
		respond_large(server, i);
	for (size_t at = 0; at < sizeof responses / sizeof *responses; at++)
		if (strcmp(path, responses[at].path) == 0)
			respond(server, i, responses[at].status, responses[at].rest);
	if (strcmp(path, "/cut") == 0)
		drop(server, i);
}

static void read_request(struct server *server, int i)
{
	struct client *client = &server->clients[i];
	ssize_t got = read(server->fds[2 + i].fd, client->request + client->len,
		sizeof client->request - 1 - client->len);
	if (got <= 0) {
		drop(server, i);
		return;
	}
	client->len += (size_t)got;
	client->request[client->len] = '\0';
	if (strstr(client->request, "\r\n\r\n"))
		act(server, i);
}

static void accept_client(struct server *server)
{
	int fd = accept4(server->fds[1].fd, NULL, NULL, SOCK_CLOEXEC);
	for (int i = 0; fd >= 0 && i < CLIENTS_MAX; i++) {
		if (server->fds[2 + i].fd < 0) {
			server->fds[2 + i] = (struct pollfd){.fd = fd, .events = POLLIN};
			return;
		}
	}
	close(fd);
}

static _Noreturn void serve(int life, int listener, int together)
{
	static struct server server;
	server.together = together;
	for (int i = 0; i < CLIENTS_MAX; i++)
		server.fds[2 + i].fd = -1;
	server.fds[0] = (struct pollfd){.fd = life, .events = POLLIN};
	server.fds[1] = (struct pollfd){.fd = listener, .events = POLLIN};
	signal(SIGPIPE, SIG_IGN);
	while (poll(server.fds, 2 + CLIENTS_MAX, -1) > 0 && !server.fds[0].revents) {
		if (server.fds[1].revents)
			accept_client(&server);
		for (int i = 0; i < CLIENTS_MAX; i++)
			if (server.fds[2 + i].fd >= 0 && server.fds[2 + i].revents)
				read_request(&server, i);
	}
	_exit(0);
}

void http_stub_start(struct http_stub *stub, int together)
{
	int life[2], listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in name = {.sin_family = AF_INET};
	socklen_t size = sizeof name;
	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
	ck_assert_int_eq(listen(listener, CLIENTS_MAX), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&name, &size), 0);
	ck_assert_int_eq(pipe2(life, O_CLOEXEC), 0);
	stub->port = ntohs(name.sin_port);
	stub->life = life[1];
	stub->pid = fork();
	ck_assert_int_ge(stub->pid, 0);
	if (stub->pid == 0) {
		close(life[1]);
		serve(life[0], listener, together);
	}
	close(life[0]);
	close(listener);
}

void http_stub_stop(struct http_stub *stub)
{
	close(stub->life);
	ck_assert_int_eq(waitpid(stub->pid, NULL, 0), stub->pid);
}
