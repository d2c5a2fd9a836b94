#include "serve/signals.h"

#include "os/loop.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static const struct {
	int number;
	enum signal_use use;
} uses[] = {
	{SIGTERM, SIGNAL_DRAINS},
	{SIGINT, SIGNAL_DRAINS},
	{SIGHUP, SIGNAL_RELOADS},
	{SIGQUIT, SIGNAL_FORCES},
	{SIGTSTP, SIGNAL_PAUSES},
	{SIGCONT, SIGNAL_RESUMES},
	{SIGUSR1, SIGNAL_LOGS_STATE},
};
#define USES (sizeof uses / sizeof *uses)
_Static_assert(USES == SIGNALS_MAX, "a watcher for each");

static void on_watcher(struct ev_loop *loop, struct ev_signal *watcher, int events)
{
	struct signals *signals = watcher->data;

	(void)loop;
	(void)events;
	signals->on_signal(signals->ctx, watcher->signum, uses[watcher - signals->watchers].use);
}

void signals_hold_as_init(void)
{
	sigset_t held;
	sigemptyset(&held);
	for (size_t i = 0; i < USES; i++)
		sigaddset(&held, uses[i].number);
	if (getpid() == 1)
		sigprocmask(SIG_BLOCK, &held, NULL);
}

void signals_start(struct signals *signals, struct ev_loop *loop,
	void (*on_signal)(void *ctx, int number, enum signal_use), void *ctx)
{
	signals->on_signal = on_signal;
	signals->ctx = ctx;
	for (size_t i = 0; i < USES; i++) {
		ev_signal_init(&signals->watchers[i], on_watcher, uses[i].number);
		signals->watchers[i].data = signals;
		ev_signal_start(loop, &signals->watchers[i]);
	}
	loop_unblock_signals();
}

void signals_stop(struct signals *signals, struct ev_loop *loop)
{
	for (size_t i = 0; i < USES; i++)
		ev_signal_stop(loop, &signals->watchers[i]);
}
