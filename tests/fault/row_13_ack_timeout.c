/* A task takes longer than the broker waits for its ack: the broker closes the channel and
 * redelivers unacked messages. The late answer is dropped, and no ack of the old channel is sent on
 * the new one. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#define LOAD       40
#define PREFETCH   16
#define TIMEOUT_MS 1000
#define LONG_MS    2500 /* so that it ends when its channel is long gone */

static const char *const delays[] = {"100ms", NULL};

static struct proc *serve(void)
{
	return fault_serve("workers: 4, pipeline: 2, prefetch: %d, "
			   "retry: {attempts: 3, delay: [100ms]}",
		PREFETCH);
}

/* The long task is late while the short timeout applies, and in time after that. */
static void run(struct tally *tally)
{
	fixture_use_own_broker();
	broker_set_ack_timeout(fixture.broker, TIMEOUT_MS);
	struct account *account = account_new(delays);
	tally->unit = "timeouts";
	while (fault_next(tally)) {
		struct proc *proc = serve();
		account_post(account, LOAD, "drtx", 0);
		account_post(account, 1, "d", LONG_MS);
		proc_expect(proc, "timed out");
		broker_set_ack_timeout(fixture.broker, 1800000);
		account_await_settled(account);
		fixture_stop(proc);
		watch_note_turns(proc, tally);
		fixture_free_program(proc);
		broker_set_ack_timeout(fixture.broker, TIMEOUT_MS);
	}
	ck_assert_int_le(account_close(account, tally), tally->trials * PREFETCH);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 13, .name = "ack timeout", .few = 3, .full = 50, .run = run});
}
