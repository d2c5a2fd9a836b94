#include "fault/proxy_link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct link *link_new(int client, int broker, const struct proxy_plan *plan)
{
	int one = 1;
	struct link *link = calloc(1, sizeof *link);
	if (!link)
		return NULL;
	link->sockets[PROXY_TO_BROKER] = client;
	link->sockets[PROXY_TO_CLIENT] = broker;
	link->plan = *plan;
	for (int w = 0; w < PROXY_WAYS; w++)
		setsockopt(link->sockets[w], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return link;
}

void link_free(struct link *link)
{
	struct linger reset = {.l_onoff = 1, .l_linger = 0};
	for (int w = 0; w < PROXY_WAYS; w++) {
		if (link->plan.is_reset)
			setsockopt(link->sockets[w], SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
		close(link->sockets[w]);
	}
	free(link);
}

/* ---------- one way of it; false: the link is over ---------- */

static bool wants_input(const struct link *link, enum proxy_way w)
{
	const struct way *way = &link->ways[w];
	if (way->is_over || link->plan.flow[w] == PROXY_STALL)
		return false;
	return way->start == way->end || link->plan.flow[w] == PROXY_SWALLOW;
}

static bool wants_output(const struct link *link, enum proxy_way w)
{
	const struct way *way = &link->ways[w];
	return link->plan.flow[w] == PROXY_PASS && way->start < way->end;
}

static void remember_head(struct link *link, const uint8_t *bytes, size_t size)
{
	size_t left = LINK_HEAD - link->head_size;
	size = size < left ? size : left;
	memcpy(link->head + link->head_size, bytes, size);
	link->head_size += size;
}

static void corrupt(struct link *link, enum proxy_way w)
{
	struct way *way = &link->ways[w];
	uint64_t at = link->plan.corrupt_at[w];
	if (at != PROXY_NEVER && at >= way->passed && at - way->passed < way->end)
		way->bytes[at - way->passed] ^= link->plan.mask;
}

static bool take_input(struct link *link, enum proxy_way w)
{
	struct way *way = &link->ways[w];
	ssize_t got = recv(link->sockets[w], way->bytes, LINK_BUFFER_SIZE, MSG_DONTWAIT);
	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	way->start = 0;
	way->end = (size_t)got;
	way->is_over = got == 0;
	if (w == PROXY_TO_BROKER)
		remember_head(link, way->bytes, (size_t)got);
	if (link->plan.flow[w] == PROXY_SWALLOW)
		way->end = 0;
	corrupt(link, w);
	return true;
}

static size_t allowed_size(const struct link *link, enum proxy_way w)
{
	const struct way *way = &link->ways[w];
	uint64_t left = link->plan.cut_at[w] - way->passed;
	size_t size = way->end - way->start;
	if (link->plan.is_sliced && size > 1)
		size = 1;
	return size < left ? size : (size_t)left;
}

static bool pass_on(struct link *link, enum proxy_way w)
{
	struct way *way = &link->ways[w];
	size_t size = allowed_size(link, w);
	ssize_t sent =
		send(link->sockets[!w], way->bytes + way->start, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent < 0)
		return errno == EAGAIN || errno == EINTR;
	way->start += (size_t)sent;
	way->passed += (uint64_t)sent;
	return true;
}

/* Forward held bytes first; a black hole forwards no end. */
static void forward_end(struct link *link, enum proxy_way w)
{
	struct way *way = &link->ways[w];
	if (!way->is_over || way->is_told || way->start < way->end ||
		link->plan.flow[w] != PROXY_PASS)
		return;
	shutdown(link->sockets[!w], SHUT_WR);
	way->is_told = true;
}

bool link_is_at_its_cut(const struct link *link)
{
	for (int w = 0; w < PROXY_WAYS; w++)
		if (link->ways[w].passed >= link->plan.cut_at[w])
			return true;
	return false;
}

/* ---------- both ways ---------- */

bool link_move(struct link *link, const struct pollfd sockets[PROXY_WAYS])
{
	for (enum proxy_way w = 0; w < PROXY_WAYS; w++) {
		bool is_readable = sockets[w].revents & (POLLIN | POLLHUP | POLLERR);
		if (is_readable && wants_input(link, w) && !take_input(link, w))
			return false;
		if (wants_output(link, w) && !link_is_at_its_cut(link) && !pass_on(link, w))
			return false;
		forward_end(link, w);
	}
	return !link->ways[PROXY_TO_BROKER].is_told || !link->ways[PROXY_TO_CLIENT].is_told;
}

void link_poll(const struct link *link, struct pollfd sockets[PROXY_WAYS])
{
	for (enum proxy_way w = 0; w < PROXY_WAYS; w++) {
		short events = (short)((wants_input(link, w) ? POLLIN : 0) |
				       (wants_output(link, !w) ? POLLOUT : 0));
		sockets[w] =
			(struct pollfd){.fd = events ? link->sockets[w] : -1, .events = events};
	}
}

bool link_has_name(const struct link *link, const char *name)
{
	return !name || memmem(link->head, link->head_size, name, strlen(name));
}

bool link_is_held(const struct link *link)
{
	return link->plan.flow[0] != PROXY_PASS || link->plan.flow[1] != PROXY_PASS;
}
