/* Notify the service manager with the datagrams of sd_notify(3), without its library. Layer: os.
 * Owns a socket and, with a watchdog, a timer of the loop that sends keep-alives, so that a
 * hanging loop is noticed. Without a manager every call does nothing. Never blocks: what the
 * manager does not accept is sent again a second later. */
#ifndef OS_NOTIFY_H
#define OS_NOTIFY_H

#include "base/mtime.h"
#include "base/text.h"

#include <ev.h>
#include <sys/socket.h>
#include <sys/un.h>

#define NOTIFY_STATUS_BYTES 256 /* with its NUL */

/* Zeroed is allowed for all but notify_open: no manager. */
struct notify {
	struct ev_loop *loop; /* borrowed; NULL: no manager */
	int fd;
	struct sockaddr_un manager;
	socklen_t manager_len;
	struct ev_timer beat;  /* active: there is a watchdog */
	struct ev_timer again; /* active: something was not accepted */
	unsigned pending;      /* bit set of messages still to send */
	mtime stop_span;
	bool was_refused; /* it is logged that the manager accepts nothing */
	char status[NOTIFY_STATUS_BYTES];
};

/* Read NOTIFY_SOCKET (a path, or @ and an abstract name), WATCHDOG_USEC and WATCHDOG_PID, and
 * remove them from our environment: they are not for our children. */
void notify_open(struct notify *, struct ev_loop *);
bool notify_has_socket(const struct notify *);
/* Serving has started. */
void notify_ready(struct notify *);
/* A reload starts; sent at once or never. Serving continues: notify_ready follows. */
void notify_reloading(struct notify *);
/* Set the status line; sent only if it changed. It is cut if too long, and invalid UTF-8 is
 * replaced. */
void notify_status(struct notify *, struct text);
/* We stop, and need at most so long: the manager must wait that long. */
void notify_stopping(struct notify *, mtime span);
/* Send what the calls above have left, in one datagram; at the end of a turn. */
void notify_flush(struct notify *);
void notify_close(struct notify *);

#endif
