/* The broker is killed under messages with keys, and started again. */
#include "fault/account.h"
#include "fault/keyed.h"
#include "fault/watch.h"

#define KEYS     100
#define LOAD     1500
#define PREFETCH 64
#define WORK_MS  3
#define SETTINGS "workers: 4, pipeline: 8, prefetch: 64, retry: {attempts: 100, delay: [100ms]}"

/* All is published before the kill, because a publisher that repeats what was not confirmed breaks
 * the order itself. The queues must survive the first kill. */
static void run(struct tally *tally)
{
	fixture_use_own_broker();
	struct keyed *keyed = keyed_new(KEYS);
	struct proc *proc = keyed_serve(SETTINGS, "takeover_delay: none");
	tally->unit = "kills";
	keyed_await_consumer();
	keyed_post(keyed, 8, "dfsx", 0);
	keyed_await_settled();
	broker_write_all(fixture.broker);
	keyed_close(keyed, tally);
	while (fault_next(tally)) {
		keyed_post(keyed, LOAD, "dfdddsdx", WORK_MS);
		keyed_await_progress(keyed, 1 + fault_random_below(LOAD / 4));
		broker_command(fixture.broker, "kill");
		broker_command(fixture.broker, "restart");
		fixture_reconnect();
		keyed_await_consumer();
		keyed_await_settled();
		ck_assert_int_le(keyed_close(keyed, tally), PREFETCH);
	}
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	keyed_free(keyed);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 29, .name = "sessions: broker killed", .few = 2, .full = 100, .run = run});
}
