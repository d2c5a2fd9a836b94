/* Everything about sessions, long: two supervisors, all kinds of messages under a steady load, and
 * a fault by chance every few seconds: workers killed, connections cut by the proxy or closed by
 * the broker, the active supervisor killed, stopped, cut off or drained. */
#include "fault/account.h"
#include "fault/keyed.h"
#include "fault/standbys.h"
#include "fault/watch.h"

#include <signal.h>
#include <stdio.h>

#define KEYS          200
#define LEVEL         400 /* messages that wait, about */
#define WORK_MS       2
#define PACE_MS       2000
#define FAULTS_A_PART 10
#define DEPARTS_FROM  5 /* one fault of so many ends the turn of the active one */

static void load_for(struct keyed *keyed, int time_ms)
{
	int64_t end = deadline_in(time_ms);
	do {
		if (client_ready(fixture.client, fixture.queue) < LEVEL)
			keyed_post(keyed, LEVEL, "dddfdsdxdddddudddddddddd", WORK_MS);
		fixture_poll(deadline_in(DEADLINE_DEFAULT_MS), 10, "the load flows");
	} while (deadline_left(end) > 0);
}

static void kill_workers(struct standbys *standbys)
{
	pid_t workers[STANDBYS_WORKERS];
	int count =
		watch_children(standbys_active_pid(standbys), "keyed", workers, STANDBYS_WORKERS);
	for (int i = 0; i < count; i++)
		if (fault_random_below(2))
			kill(workers[i], SIGKILL);
}

/* Return how many messages it may repeat. */
static long hurt(struct standbys *standbys)
{
	if (fault_random_below(DEPARTS_FROM) == 0) {
		standbys_depart(standbys, (enum departure)fault_random_below(DEPARTURES));
		return STANDBYS_PREFETCH;
	}
	if (fault_random_below(2)) {
		kill_workers(standbys);
		return STANDBYS_WORKERS;
	}
	standbys_cut(standbys);
	return STANDBYS_PREFETCH;
}

static void run(struct tally *tally)
{
	struct keyed *keyed = keyed_new(KEYS);
	struct standbys *standbys = standbys_start(2);
	bool goes_on = true;
	tally->unit = "faults";
	tally->suspends = true;
	while (goes_on) {
		long allowed = 0;
		for (int i = 0; i < FAULTS_A_PART && (goes_on = fault_next(tally)); i++) {
			load_for(keyed, PACE_MS);
			allowed += hurt(standbys);
		}
		keyed_await_settled();
		ck_assert_int_le(keyed_close(keyed, tally), allowed);
	}
	standbys_end(standbys, tally);
	ck_assert_int_le(keyed_given_up(keyed), tally->trials / 4 + 1);
	snprintf(tally->note, sizeof tally->note, "%ld given up because supervisors died in a row",
		keyed_given_up(keyed));
	keyed_free(keyed);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 32, .name = "sessions: all, long", .few = 10, .full = 4000, .run = run});
}
