/* The leader of a throttle that three supervisors share is killed, stopped or cut off while all of
 * them have tasks; or it is only paused or stalled for a moment, in which it may or may not be
 * replaced. In no period start more tasks than the limit, and none is lost. */
#include "fault/proxy.h"
#include "fault/sharers.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>

#define HOSTS      64
#define HEARTBEAT  1 /* s */
#define MOMENT_MAX 3000

static const char *const delays[] = {"100ms", NULL};

enum departure {
	KILLED,
	STOPPED,    /* until another one leads */
	BLACK_HOLE, /* the same, for its connections */
	PAUSED,     /* SIGSTOP for a moment */
	STALLED,    /* its connections for a moment; the bytes come later */
	DEPARTURES
};

struct group {
	struct proxy *proxy;
	struct sharers *sharers;
	long longest_ms[DEPARTURES]; /* until another one led */
};

/* The settings of a broker that is many hosts, as in fault_serve_by_proxy. */
static char *by_proxy(const struct proxy *proxy)
{
	char *urls = scratch_text("%s", "");
	for (int i = 0; i < HOSTS; i++) {
		char *before = urls;
		urls = scratch_text("%s%s'amqp://guest:guest@127.0.0.1:%d/%%2f'", before,
			i ? ", " : "", proxy_port(proxy));
		free(before);
	}
	char *settings = scratch_text("url: [%s], heartbeat: %ds", urls, HEARTBEAT);
	free(urls);
	return settings;
}

static void set_flow(struct group *group, const struct peer *peer, enum proxy_flow flow)
{
	char *name = scratch_text("pid %d", (int)proc_pid(peer->proc));
	proxy_set_flow(group->proxy, name, flow, flow);
	free(name);
}

static void begin_departure(struct group *group, struct peer *peer, enum departure how)
{
	if (how == KILLED)
		peer_end(peer, SIGKILL, 128 + SIGKILL);
	else if (how == STOPPED || how == PAUSED)
		peer_signal(peer, SIGSTOP);
	else
		set_flow(group, peer, how == STALLED ? PROXY_STALL : PROXY_SWALLOW);
}

static void end_departure(struct group *group, struct peer *peer, enum departure how)
{
	if (how == KILLED)
		peer_start(peer);
	else if (how == STOPPED || how == PAUSED)
		peer_signal(peer, SIGCONT);
	else if (how == STALLED)
		set_flow(group, peer, PROXY_PASS);
	else
		proxy_cut_held(group->proxy);
}

static void await_another(struct group *group, int leader, enum departure how)
{
	int64_t begun = deadline_now_ms();
	sharers_await_leader(group->sharers, leader);
	long took = (long)(deadline_now_ms() - begun);
	if (took > group->longest_ms[how])
		group->longest_ms[how] = took;
	sharers_await_begun(group->sharers, fault_random_below(2 * SHARERS_LIMIT));
}

static void depart(struct group *group, enum departure how)
{
	int leader = sharers_await_leader(group->sharers, -1);
	struct peer *peer = &group->sharers->peers[leader];
	sharers_await_begun(group->sharers, 1 + fault_random_below(2 * SHARERS_LIMIT));
	begin_departure(group, peer, how);
	if (how == PAUSED || how == STALLED)
		poll(NULL, 0, (int)fault_random_below(MOMENT_MAX));
	else
		await_another(group, leader, how);
	end_departure(group, peer, how);
	sharers_await_begun(group->sharers, SHARERS_LIMIT);
}

static void run_rounds(struct group *group, struct account *account, struct tally *tally)
{
	while (fault_next(tally)) {
		sharers_load(account);
		depart(group, (enum departure)((tally->trials - 1) % DEPARTURES));
		sharers_check(group->sharers);
	}
}

static void run(struct tally *tally)
{
	struct group group = {.proxy = proxy_start(broker_port(fixture.broker))};
	struct account *account = account_new(delays);
	char *settings = by_proxy(group.proxy);
	const char *const brokers[SHARERS] = {settings, settings, settings};
	tally->unit = "departures";
	tally->suspends = true;
	group.sharers = sharers_start(brokers);
	run_rounds(&group, account, tally);
	account_await_settled(account);
	char *note = sharers_note(group.sharers);
	sharers_end(group.sharers, tally);
	/* With heartbeats of 1 s a busy machine may lose other connections. */
	ck_assert_int_le(account_close(account, tally), 3 * SHARERS_PREFETCH * tally->trials);
	snprintf(tally->note, sizeof tally->note,
		"%s; another one leads after at most: killed %ld ms, stopped %ld ms, cut off %ld ms",
		note, group.longest_ms[KILLED], group.longest_ms[STOPPED],
		group.longest_ms[BLACK_HOLE]);
	proxy_free(group.proxy);
	account_free(account);
	free(settings);
	free(note);
}

int main(void)
{
	return fault_main(&(struct fault){.row = 33,
		.name = "shared throttle: leader gone",
		.few = 10,
		.full = 1000,
		.run = run});
}
