/* A listening socket: a Unix one for our own user, or a TCP one. Layer: http.
 * Non-blocking, closed on exec. Opening does not block: whether another process uses the path is
 * found by a connection that is accepted or refused at once. */
#ifndef HTTP_LISTENER_H
#define HTTP_LISTENER_H

#include "base/rc.h"
#include "base/text.h"

#include <sys/types.h>
#include <sys/un.h>

/* Bytes of a path, with its NUL. */
#define LISTENER_PATH_BYTES sizeof(((struct sockaddr_un *)0)->sun_path)

struct listener {
	int fd; /* -1: none */
	char path[LISTENER_PATH_BYTES];
	dev_t device; /* of the socket's file, to recognize it */
	ino_t inode;
};

#define LISTENER_NONE ((struct listener){.fd = -1})

/* At this path, for our own user only (0600). A socket without a listener is replaced.
 * RC_REFUSED: another process listens there, or is about to. RC_MALFORMED: the file is no socket;
 * it is left alone. RC_LIMIT: the path is too long. RC_SYSTEM: see errno. */
enum rc listener_open_path(const char *path, struct listener *ret) MUST_CHECK;
/* "127.0.0.1:9464", "[::1]:9464"; port 0: any that is free. RC_MALFORMED: this is no address;
 * RC_REFUSED: it is in use; RC_SYSTEM: see errno. */
enum rc listener_open_address(const char *address, struct listener *ret) MUST_CHECK;
/* The port of a TCP listener; 0: it is none. */
unsigned listener_port(const struct listener *);
/* Remove the path, if it is still this socket. LISTENER_NONE is legal, and is the result. */
void listener_close(struct listener *);

#endif
