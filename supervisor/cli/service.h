/* What the service manager (systemd) is told of us: ready, how it stands, stopping. Layer: cli.
 * Ready is what /readyz means, but waited for only so long: a broker that is down must not fail our
 * start, and with it whatever waits for that. From then on the status line tells. */
#ifndef CLI_SERVICE_H
#define CLI_SERVICE_H

#include "cli/overview.h"
#include "io/notify.h"

/* Zero is legal for service_close. */
struct service {
	struct notify notify;
	const struct overview *overview; /* borrowed */
	struct ev_timer tick;
	bool is_ready; /* was told */
};

/* Before anything is started that would inherit the manager's variables. */
void service_open(struct service *, struct ev_loop *);
/* overview: until service_close. */
void service_start(struct service *, const struct overview *);
/* The end of a turn of the loop. */
void service_turn(struct service *);
/* A configuration is read again, and that is over, however it ended. */
void service_reloading(struct service *);
void service_reloaded(struct service *);
/* The phase has changed: it stops, and until it has closed its connections this passes at most. */
void service_stopping(struct service *, mtime span);
void service_close(struct service *);

#endif
