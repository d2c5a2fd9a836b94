/* A listening socket: a Unix one that is ours alone, or a TCP one. Layer: io.
 * Non-blocking, closed on exec. Opening blocks for nothing: who else uses the path is asked by a
 * connection that is taken or refused at once. */
#ifndef IO_LISTENER_H
#define IO_LISTENER_H

#include "base/rc.h"
#include "base/text.h"

#include <sys/types.h>
#include <sys/un.h>

/* Bytes of a path, with its NUL. */
#define LISTENER_PATH_BYTES sizeof(((struct sockaddr_un *)0)->sun_path)

struct listener {
	int fd; /* -1: none */
	char path[LISTENER_PATH_BYTES];
	dev_t device; /* of the socket's file, to know it again */
	ino_t inode;
};

#define LISTENER_NONE ((struct listener){.fd = -1})

/* At this path, for our own user only (0600). A socket that nobody listens to any more is replaced.
 * RC_REFUSED: somebody does listen, or is about to, and is not disturbed. RC_MALFORMED: there is
 * something that is no socket; it is left alone. RC_LIMIT: the path is too long. RC_SYSTEM: errno
 * tells. */
enum rc listener_open_path(const char *path, struct listener *ret) MUST_CHECK;
/* "127.0.0.1:9464", "[::1]:9464"; port 0: any that is free. RC_MALFORMED: no such address;
 * RC_REFUSED: it is in use; RC_SYSTEM: errno tells. */
enum rc listener_open_address(const char *address, struct listener *ret) MUST_CHECK;
/* The port of a TCP one; 0: it is none. */
unsigned listener_port(const struct listener *);
/* Removes its path, if that is still its own. LISTENER_NONE is legal and is left. */
void listener_close(struct listener *);

#endif
