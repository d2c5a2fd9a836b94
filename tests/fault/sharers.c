#include "fault/sharers.h"

#include "fault/watch.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define PERIOD BEGINS_SECOND
#define LOAD   200 /* in the queue: ten seconds of the limit */
/* The supervisor is not running between the choice of a task and its write: it reports that, and
 * then the start counts from the write on. */
#define LATE_MAX (50 * PERIOD / 1000)
/* A line that is written late has its place among these. */
#define KEPT (10 * SHARERS_LIMIT)

static void configure(const struct sharers *sharers, const struct peer *peer, const char *broker)
{
	char *lists = scratch_text(
		"pools:\n- {name: tested, queue: %s, command: ['%s'], workers: 4, prefetch: %d,\n"
		"   env: {LD_PRELOAD: ''}, retry: {attempts: 100, delay: [100ms]}, throttle: [%s]}\n"
		"throttles:\n- {name: %s, limit: %d, period: 1s, scope: cluster}\n",
		fixture.queue, fixture_built("workers/echo"), SHARERS_PREFETCH, sharers->throttle,
		sharers->throttle, SHARERS_LIMIT);
	peer_configure(peer, broker, lists);
	free(lists);
}

struct sharers *sharers_start(const char *const brokers[SHARERS])
{
	struct sharers *sharers = calloc(1, sizeof *sharers);
	ck_assert_ptr_nonnull(sharers);
	sharers->throttle = scratch_text("row-%d", (int)getpid());
	sharers->environment[0] =
		scratch_text("LD_PRELOAD=%s", fixture_built("recorded_starts.so"));
	sharers->environment[1] = scratch_text("STARTS=%s", begins_path());
	sharers->environment[2] = scratch_text("STARTS_OF=%s", fixture.queue);
	sharers->shortest_us = INT64_MAX;
	for (int i = 0; i < SHARERS; i++) {
		sharers->peers[i] = peer_make(i);
		sharers->peers[i].environment = sharers->environment;
		configure(sharers, &sharers->peers[i], brokers[i]);
		peer_start(&sharers->peers[i]);
	}
	client_expect_consumers(fixture.client, fixture.queue, SHARERS);
	return sharers;
}

void sharers_end(struct sharers *sharers, struct tally *tally)
{
	for (int i = 0; i < SHARERS; i++) {
		fixture_stop(sharers->peers[i].proc);
		watch_note_turns(sharers->peers[i].proc, tally);
	}
	sharers_check(sharers);
	begins_release(&sharers->begins);
	client_delete(fixture.client, sharers_requests(sharers));
	free(sharers);
}

const char *sharers_requests(const struct sharers *sharers)
{
	return scratch_text("wpool.throttle.%s", sharers->throttle);
}

int sharers_await_leader(struct sharers *sharers, int but)
{
	return peers_await_leader(sharers->peers, SHARERS, sharers->throttle, but);
}

void sharers_load(struct account *account)
{
	account_fill(account, LOAD, "d", 0);
}

static void follow(struct sharers *sharers)
{
	int before = sharers->begins.count;
	begins_follow(&sharers->begins);
	sharers->begun += sharers->begins.count - before;
}

void sharers_await_begun(struct sharers *sharers, long count)
{
	int64_t deadline = deadline_in(2 * DEADLINE_DEFAULT_MS);
	follow(sharers);
	long enough = sharers->begun + count;
	for (; sharers->begun < enough; follow(sharers))
		fixture_poll(deadline, 10, "more tasks begin");
}

void sharers_check(struct sharers *sharers)
{
	struct begins *begins = &sharers->begins;
	follow(sharers);
	int64_t shortest_us = begins_shortest(begins, NULL, SHARERS_LIMIT);
	if (shortest_us < PERIOD - LATE_MAX)
		fixture_fail(scratch_text(
			"%d starts within %" PRId64 " us", SHARERS_LIMIT + 1, shortest_us));
	if (shortest_us < sharers->shortest_us)
		sharers->shortest_us = shortest_us;
	sharers->below += shortest_us < PERIOD;
	if (begins->count > KEPT)
		begins_skip(begins, begins->count - KEPT);
}

char *sharers_note(const struct sharers *sharers)
{
	return scratch_text("%d starts took %" PRId64
			    " ms or longer (limit %d in 1000 ms; %ld rounds below 1000 ms)",
		SHARERS_LIMIT + 1, sharers->shortest_us / 1000, SHARERS_LIMIT, sharers->below);
}
