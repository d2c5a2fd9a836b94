/* The active one of three supervisors is killed, stopped, cut off or drained, under messages with
 * keys; a standby takes over, and no task runs beside one that is left behind. */
#include "fault/account.h"
#include "fault/keyed.h"
#include "fault/standbys.h"

#include <stdio.h>

#define KEYS    20
#define LOAD    400
#define WORK_MS 10

static void run(struct tally *tally)
{
	struct keyed *keyed = keyed_new(KEYS);
	struct standbys *standbys = standbys_start(3);
	long longest_ms[DEPARTURES] = {0}, drained_repeats = 0;
	tally->unit = "takeovers";
	tally->suspends = true;
	while (fault_next(tally)) {
		enum departure how = (enum departure)((tally->trials - 1) % DEPARTURES);
		keyed_post(keyed, LOAD, "dddfdsdx", WORK_MS);
		keyed_await_progress(keyed, 1 + fault_random_below(LOAD / 4));
		long took = standbys_depart(standbys, how);
		longest_ms[how] = took > longest_ms[how] ? took : longest_ms[how];
		keyed_await_settled();
		long repeats = keyed_close(keyed, tally);
		/* With heartbeats of 2 s a busy machine may lose another connection. */
		ck_assert_int_le(repeats, 2 * STANDBYS_PREFETCH);
		drained_repeats += how == DEPARTURE_DRAINED ? repeats : 0;
	}
	standbys_end(standbys, tally);
	ck_assert_int_le(keyed_given_up(keyed), tally->trials / 4 + 1);
	snprintf(tally->note, sizeof tally->note,
		"another one active after at most: killed %ld ms, stopped %ld ms, cut off %ld ms, "
		"drained %ld ms; %ld repeats after drains",
		longest_ms[DEPARTURE_KILLED], longest_ms[DEPARTURE_STOPPED],
		longest_ms[DEPARTURE_BLACK_HOLE], longest_ms[DEPARTURE_DRAINED], drained_repeats);
	keyed_free(keyed);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 30, .name = "sessions: takeover", .few = 4, .full = 1200, .run = run});
}
