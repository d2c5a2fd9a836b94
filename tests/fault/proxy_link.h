/* A link of the fault proxy: two sockets, the bytes that move between them, and a plan of faults.
 * For proxy.c only, which holds its lock during each call. No call blocks. */
#ifndef FAULT_PROXY_LINK_H
#define FAULT_PROXY_LINK_H

#include "fault/proxy.h"

#include <poll.h>
#include <stddef.h>

#define LINK_BUFFER_SIZE 16384
#define LINK_HEAD        1024 /* the first bytes of a client, which contain its name */

struct way {
	uint8_t bytes[LINK_BUFFER_SIZE]; /* read and not yet passed on, from start to end */
	size_t start, end;
	uint64_t passed;
	bool is_over; /* its end of file was read */
	bool is_told; /* the end of file was passed on */
};

/* sockets[way] is where the bytes of that way are read; they are written to the other one. */
struct link {
	int sockets[PROXY_WAYS];
	struct way ways[PROXY_WAYS];
	struct proxy_plan plan;
	uint8_t head[LINK_HEAD];
	size_t head_size;
	bool is_doomed; /* by proxy_cut */
};

/* The sockets move in. NULL: out of memory; they are still the caller's. */
struct link *link_new(int client, int broker, const struct proxy_plan *);
/* Close both sockets as the plan says. */
void link_free(struct link *);

/* Set what to wait for on each socket. A socket with nothing to wait for is left out, because poll
 * would report its end again and again. */
void link_poll(const struct link *, struct pollfd sockets[PROXY_WAYS]);
/* Move the bytes that can be moved after a poll. False: the link has ended. */
bool link_move(struct link *, const struct pollfd sockets[PROXY_WAYS]);
bool link_is_at_its_cut(const struct link *);
/* True: it does not pass all bytes. */
bool link_is_held(const struct link *);
/* name NULL: any. */
bool link_has_name(const struct link *, const char *name);

#endif
