/* Bytes to and from a broker: over a socket, or in memory. */
#include "diff/wire.h"

#include "sim/fail.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int dial(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	sim_require(fd >= 0, "no socket");
	sim_require(connect(fd, (struct sockaddr *)&address, sizeof address) == 0,
		"no broker on port %d: %s", port, strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return fd;
}

void wire_open(struct client *client)
{
	if (client->side->fake)
		client->peer = broker_accept(client->side->fake);
	else
		client->fd = dial(client->side->port);
}

void wire_close(struct client *client)
{
	if (client->peer)
		broker_cut(client->peer);
	client->peer = NULL;
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
}

static void write_all(int fd, struct text bytes)
{
	while (bytes.len > 0) {
		ssize_t n = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);

		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return; /* earlier bytes of the broker are still to be read */
		sim_require(n > 0, "the broker takes nothing: %s", strerror(errno));
		bytes = text_of(bytes.ptr + n, bytes.len - (size_t)n);
	}
}

static size_t frame_len(struct text bytes)
{
	const uint8_t *p = (const uint8_t *)bytes.ptr;

	if (p[0] == 'A') /* the protocol header */
		return 8;
	return 8 + ((size_t)p[3] << 24 | (size_t)p[4] << 16 | (size_t)p[5] << 8 | p[6]);
}

/* Send frame by frame, because a queue delivers the next message as soon as one is settled. */
static void feed(struct client *client, struct text bytes)
{
	while (bytes.len > 0) {
		size_t len = frame_len(bytes);

		broker_input(client->peer, text_of(bytes.ptr, len));
		broker_work(client->side->fake, true);
		bytes = text_of(bytes.ptr + len, bytes.len - len);
	}
}

void client_flush(struct client *client)
{
	struct text bytes = buf_text(&client->out);

	if (client->peer) {
		feed(client, bytes);
	} else if (client->fd >= 0) {
		write_all(client->fd, bytes);
	}
	buf_clear(&client->out);
}

bool wire_read(struct client *client)
{
	char bytes[65536];
	ssize_t n;

	if (client->peer) {
		struct buf *out = broker_output(client->peer);

		buf_append_text(&client->in, buf_text(out));
		buf_clear(out);
		return true;
	}
	while (client->fd >= 0) {
		n = recv(client->fd, bytes, sizeof bytes, MSG_DONTWAIT);
		if (n > 0)
			buf_append(&client->in, bytes, (size_t)n);
		else
			return n < 0 && (errno == EAGAIN || errno == EINTR);
	}
	return false;
}

void clients_wait(struct client *const clients[], size_t count, int timeout_ms)
{
	struct pollfd fds[SCRIPT_CONNECTIONS + 1];

	for (size_t i = 0; i < count; i++)
		fds[i] = (struct pollfd){.fd = clients[i]->fd, .events = POLLIN};
	sim_require(poll(fds, count, timeout_ms) >= 0 || errno == EINTR, "poll");
}
