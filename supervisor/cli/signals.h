/* The signals that serve listens to. Layer: cli.
 * Says what each is for; what is done is the supervisor's. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <ev.h>

#define SIGNALS_MAX 7

enum signal_use {
	SIGNAL_DRAINS, /* TERM, INT; the second one forces */
	SIGNAL_FORCES, /* QUIT */
	/* TSTP: pause, CONT: go on, HUP: the configuration, again, USR1: the state of all pools
	 * into the log */
	SIGNAL_STEERS,
};

struct signals {
	struct ev_signal watchers[SIGNALS_MAX];
	void (*on_signal)(void *ctx, int number, enum signal_use);
	void *ctx;
};

/* ctx: borrowed until signals_stop. */
void signals_start(struct signals *, struct ev_loop *,
	void (*on_signal)(void *ctx, int number, enum signal_use), void *ctx);
void signals_stop(struct signals *, struct ev_loop *);

#endif
