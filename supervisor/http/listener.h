/* A listening socket: a Unix one for our own user and perhaps a group, or a TCP one. Layer: http.
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

#define LISTENER_NONE     ((struct listener){.fd = -1})
#define LISTENER_NO_GROUP ((gid_t)-1)

/* At this path, for our own user only (0600), or for this group, too (0660). A socket without a
 * listener is replaced. Meanwhile PATH.lock exists, which only our own user can open.
 * RC_REFUSED: another process listens there, or is about to. RC_MALFORMED: the file is no socket;
 * it is left alone. RC_LIMIT: the path is too long. RC_SYSTEM: see errno; EPERM: PATH.lock is
 * another user's, or we are not in the group. */
enum rc listener_open_path(const char *path, gid_t group, struct listener *ret) MUST_CHECK;
/* "127.0.0.1:9464", "[::1]:9464"; port 0: any that is free. RC_MALFORMED: this is no address;
 * RC_REFUSED: it is in use; RC_SYSTEM: see errno. */
enum rc listener_open_address(const char *address, struct listener *ret) MUST_CHECK;
/* The port of a TCP listener; 0: it is none. */
unsigned listener_port(const struct listener *);
/* Remove the path, if it is still this socket. LISTENER_NONE is legal, and is the result. */
void listener_close(struct listener *);

#endif
