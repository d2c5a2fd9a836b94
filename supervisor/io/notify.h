/* What the service manager that started us is told: the datagrams of sd_notify(3), without its
 * library. Layer: io.
 * Owns a socket, and where the manager keeps a watchdog a timer of the loop that feeds it, so that
 * a loop which hangs is noticed. Where there is nobody to tell, every call does nothing. Never
 * waits: what the manager does not take at once is said again a second later. */
#ifndef IO_NOTIFY_H
#define IO_NOTIFY_H

#include "base/mtime.h"
#include "base/text.h"

#include <ev.h>
#include <sys/socket.h>
#include <sys/un.h>

#define NOTIFY_STATUS_BYTES 256 /* with its NUL */

/* Zero is legal for all but notify_open: nobody to tell. */
struct notify {
	struct ev_loop *loop; /* borrowed; NULL: nobody to tell */
	int fd;
	struct sockaddr_un manager;
	socklen_t manager_len;
	struct ev_timer beat;  /* active: there is a watchdog */
	struct ev_timer again; /* active: something was not taken */
	unsigned unsaid;       /* bits, of what is yet to be said */
	mtime stop_span;
	bool was_refused; /* that it takes nothing was logged */
	char status[NOTIFY_STATUS_BYTES];
};

/* Looks where NOTIFY_SOCKET (a path, or @ and an abstract name), WATCHDOG_USEC and WATCHDOG_PID
 * say, and takes them out of our environment: they are not for what we start. */
void notify_open(struct notify *, struct ev_loop *);
bool notify_is_heard(const struct notify *);
/* Serving has begun. */
void notify_ready(struct notify *);
/* The configuration is read again: said at once, or not at all where it is not taken. Serving goes
 * on: notify_ready follows. */
void notify_reloading(struct notify *);
/* How it stands, in a line; only news is sent. What is too long is cut, what is no text repaired.
 */
void notify_status(struct notify *, struct text words);
/* It stops, and needs so long at most: the manager is to wait no less. */
void notify_stopping(struct notify *, mtime span);
/* Sends in one datagram what the calls above have left to say; at the end of a turn. */
void notify_flush(struct notify *);
void notify_close(struct notify *);

#endif
