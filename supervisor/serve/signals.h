/* The signals that serve handles. Layer: serve. Each is mapped to its use; the supervisor acts on
 * it. */
#ifndef SERVE_SIGNALS_H
#define SERVE_SIGNALS_H

#include <ev.h>

#define SIGNALS_MAX 7

enum signal_use {
	SIGNAL_DRAINS, /* TERM, INT; a second one forces */
	SIGNAL_FORCES, /* QUIT */
	SIGNAL_RELOADS,
	SIGNAL_PAUSES,
	SIGNAL_RESUMES,
	SIGNAL_LOGS_STATE, /* of all pools */
};

struct signals {
	struct ev_signal watchers[SIGNALS_MAX];
	void (*on_signal)(void *ctx, int number, enum signal_use);
	void *ctx;
};

/* Call it first: PID 1 of a container would lose a signal that comes before signals_start. Another
 * process ends by it, as it should. */
void signals_hold_as_init(void);
/* Act on signals, also on those that were held. ctx: borrowed until signals_stop. */
void signals_start(struct signals *, struct ev_loop *,
	void (*on_signal)(void *ctx, int number, enum signal_use), void *ctx);
void signals_stop(struct signals *, struct ev_loop *);

#endif
