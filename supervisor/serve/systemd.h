/* Notify the service manager (systemd): ready, status, stopping. Layer: serve. Ready means the same
 * as for /readyz, but is waited for only for a limited time: a broker that is down must not fail
 * our start and the units that depend on it. After that the status line names what is missing. */
#ifndef SERVE_SYSTEMD_H
#define SERVE_SYSTEMD_H

#include "os/notify.h"
#include "runtime/supervisor_view.h"

/* Zeroed is allowed for systemd_close. */
struct systemd {
	struct notify notify;
	const struct supervisor_view *view; /* borrowed */
	struct ev_timer tick;
	bool is_ready; /* was notified */
};

/* Call before starting anything that would inherit the manager's variables. */
void systemd_open(struct systemd *, struct ev_loop *);
/* view: borrowed until systemd_close. */
void systemd_start(struct systemd *, const struct supervisor_view *);
/* Call at the end of a turn of the loop. */
void systemd_turn(struct systemd *);
/* A reload begins; it has ended, whatever its result. */
void systemd_reloading(struct systemd *);
void systemd_reloaded(struct systemd *);
/* The supervisor stops; within: until its connections are closed, at most. */
void systemd_stopping(struct systemd *, mtime span);
void systemd_close(struct systemd *);

#endif
