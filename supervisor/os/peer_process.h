/* The process at the other end of a Unix socket: the one that listened there. Layer: os. Waits for
 * its end, in whatever PID namespace it is, and says which one it is. */
#ifndef OS_PEER_PROCESS_H
#define OS_PEER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct peer_process {
	int connection, pidfd; /* owned; -1: none */
};

#define PEER_PROCESS_NONE ((struct peer_process){-1, -1})

/* fd: a connected Unix socket, while the peer is known to be at the other end. It may be closed
 * afterwards. Without a pidfd (the process is in another namespace before Linux 6.5, or has ended)
 * its end is that of the connection. */
void peer_process_hold(struct peer_process *, int fd);
/* Wait until the other side of the connection is closed, and then until the process has ended, for
 * at most limit_ms in all: what listens there may be a proxy that lives on. True: it has ended, as
 * far as that can be known. */
bool peer_process_await_end(const struct peer_process *, int limit_ms);
void peer_process_release(struct peer_process *);

/* The process that listens at this path; 0: none, or it is in another PID namespace. Does not
 * block. */
pid_t peer_process_at(const char *path);
/* Write its command line as every user can read it, cut at size - 1 bytes, with a blank between two
 * words. Empty: it is not known. A wpool has overwritten the passwords in its own. */
void peer_process_read_command(pid_t, char *ret, size_t size);

#endif
