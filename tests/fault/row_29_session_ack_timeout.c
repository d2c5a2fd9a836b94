/* A task with a key takes longer than the broker waits for its ack. In half of the trials the
 * broker closes the channel: the task goes on, its redelivery is attached to it, and nothing runs
 * twice. In the others max_unacked_age is shorter, the supervisor renews the channel in time, and
 * the broker never closes it. */
#include "fault/account.h"
#include "fault/keyed.h"
#include "fault/watch.h"

#include <stdio.h>

#define KEYS       10
#define LOAD       40
#define PREFETCH   64
#define SHORT_MS   1000 /* the broker's timeout */
#define RENEWED_MS 6000 /* the same where max_unacked_age is 1 s */
#define LONG_MS    2500 /* a task */
#define LONGER_MS  8000
#define SETTINGS   "workers: 4, pipeline: 2, prefetch: 64, retry: {attempts: 3, delay: [100ms]}"
#define SESSION    "takeover_delay: none, delivery_limit: none, "

/* Return the repeats. */
static long be_late(struct keyed *keyed, bool is_renewed, struct tally *tally)
{
	broker_set_ack_timeout(fixture.broker, is_renewed ? RENEWED_MS : SHORT_MS);
	struct proc *proc = keyed_serve(SETTINGS,
		is_renewed ? SESSION "max_unacked_age: 1s" : SESSION "max_unacked_age: none");
	keyed_await_consumer();
	keyed_post(keyed, LOAD, "dfsx", 0);
	keyed_post(keyed, 1, "d", is_renewed ? LONGER_MS : LONG_MS);
	keyed_post(keyed, LOAD, "dfsx", 0);
	if (!is_renewed)
		proc_expect(proc, "timed out");
	broker_set_ack_timeout(fixture.broker, 1800000);
	keyed_await_settled();
	if (is_renewed)
		ck_assert_msg(!proc_has_logged(proc, "timed out"), "the broker closed a channel");
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	fixture_free_program(proc);
	return keyed_close(keyed, tally);
}

static void run(struct tally *tally)
{
	fixture_use_own_broker();
	struct keyed *keyed = keyed_new(KEYS);
	tally->unit = "timeouts";
	long repeats = 0;
	while (fault_next(tally))
		repeats += be_late(keyed, tally->trials % 2 == 0, tally);
	ck_assert_int_le(repeats, tally->trials * PREFETCH);
	keyed_free(keyed);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 29, .name = "sessions: ack timeout", .few = 2, .full = 50, .run = run});
}
