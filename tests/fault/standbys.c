#include "fault/standbys.h"

#include "fault/proxy.h"
#include "fault/watch.h"

#include <signal.h>
#include <string.h>

#define COUNT_MAX 3
#define HAS_TOKEN "active: has the token"
#define WAITS     "waiting for the token of queue"
#define WAIT_MS   60000 /* for another one to be active */
#define SETTINGS                                                                                   \
	"workers: 4, pipeline: 4, prefetch: 64, limits: {grace: 1s}, retry: {attempts: 100, "      \
	"delay: [100ms]}"

struct standbys {
	struct proxy *proxy;
	struct proc *procs[COUNT_MAX];
	int count, active;
};

static struct proc *start(const struct standbys *standbys)
{
	return keyed_serve_by_proxy(
		proxy_port(standbys->proxy), "?heartbeat=2", SETTINGS, "takeover_delay: 10s");
}

/* By its log: the last time that it got the token was after the last time that it waited for it. */
static bool is_active(const struct proc *proc)
{
	char *log = proc_stderr((struct proc *)(uintptr_t)proc);
	const char *has = NULL, *waits = NULL;
	for (const char *at = log; (at = strstr(at, HAS_TOKEN)); at++)
		has = at;
	for (const char *at = log; (at = strstr(at, WAITS)); at++)
		waits = at;
	bool is_later = has && has > waits;
	free(log);
	return is_later;
}

/* Wait until one is active that is not this one (-1: any). */
static void await_active(struct standbys *standbys, int which)
{
	int64_t deadline = deadline_in(WAIT_MS);
	for (;; fixture_poll(deadline, 5, "a supervisor is active"))
		for (int i = 0; i < standbys->count; i++)
			if (i != which && is_active(standbys->procs[i])) {
				standbys->active = i;
				return;
			}
}

struct standbys *standbys_start(int count)
{
	struct standbys *standbys = calloc(1, sizeof *standbys);
	ck_assert_ptr_nonnull(standbys);
	ck_assert_int_le(count, COUNT_MAX);
	standbys->proxy = proxy_start(broker_port(fixture.broker));
	standbys->procs[0] = start(standbys);
	standbys->count = 1;
	await_active(standbys, -1);
	keyed_await_consumer();
	for (; standbys->count < count; standbys->count++) {
		standbys->procs[standbys->count] = start(standbys);
		proc_expect(standbys->procs[standbys->count], WAITS);
	}
	return standbys;
}

void standbys_end(struct standbys *standbys, struct tally *tally)
{
	if (!standbys)
		return;
	/* The active one last: no other one takes over meanwhile. */
	await_active(standbys, -1);
	for (int i = 1; i <= standbys->count; i++) {
		struct proc *proc = standbys->procs[(standbys->active + i) % standbys->count];
		fixture_stop(proc);
		watch_note_turns(proc, tally);
	}
	proxy_free(standbys->proxy);
	free(standbys);
}

pid_t standbys_active_pid(const struct standbys *standbys)
{
	return proc_pid(standbys->procs[standbys->active]);
}

static char *name_of(const struct standbys *standbys, int which)
{
	return scratch_text("pid %d", (int)proc_pid(standbys->procs[which]));
}

void standbys_cut(struct standbys *standbys)
{
	await_active(standbys, -1);
	char *name = name_of(standbys, standbys->active);
	proxy_cut(standbys->proxy, name, fault_random_below(2));
	free(name);
}

static void begin_departure(struct standbys *standbys, enum departure how)
{
	char *name = name_of(standbys, standbys->active);
	struct proc *proc = standbys->procs[standbys->active];
	if (how == DEPARTURE_BLACK_HOLE)
		proxy_set_flow(standbys->proxy, name, PROXY_SWALLOW, PROXY_SWALLOW);
	else
		proc_signal(proc, how == DEPARTURE_KILLED    ? SIGKILL
				  : how == DEPARTURE_STOPPED ? SIGSTOP
							     : SIGTERM);
	free(name);
}

/* The one that was active is a standby, or another one in its place is. */
static void end_departure(struct standbys *standbys, int which, enum departure how)
{
	struct proc *proc = standbys->procs[which];
	if (how == DEPARTURE_BLACK_HOLE) {
		proxy_cut_held(standbys->proxy);
	} else if (how == DEPARTURE_STOPPED) {
		proc_signal(proc, SIGCONT);
	} else {
		ck_assert_int_eq(proc_wait(proc), how == DEPARTURE_KILLED ? 128 + SIGKILL : 0);
		fixture_free_program(proc);
		standbys->procs[which] = start(standbys);
		proc_expect(standbys->procs[which], WAITS);
	}
}

long standbys_depart(struct standbys *standbys, enum departure how)
{
	await_active(standbys, -1);
	int which = standbys->active;
	int64_t begun = deadline_now_ms();
	begin_departure(standbys, how);
	await_active(standbys, which);
	long took = (long)(deadline_now_ms() - begun);
	end_departure(standbys, which, how);
	return took;
}
