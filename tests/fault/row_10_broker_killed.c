/* The broker is killed under load and started again. Both connections are reopened, unconfirmed
 * messages are published again, unacked messages are redelivered. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#include <stdio.h>

#define LOAD     400
#define PREFETCH 64

static const char *const delays[] = {"100ms", NULL};

static struct proc *serve(void)
{
	return fault_serve("workers: 4, pipeline: 8, prefetch: %d, "
			   "retry: {attempts: 3, delay: [100ms]}",
		PREFETCH);
}

/* The queues must survive the first kill. */
static void let_queues_settle(struct account *account)
{
	account_post(account, 8, "drtx", 0);
	account_await_settled(account);
	broker_write_all(fixture.broker);
}

static void run(struct tally *tally)
{
	fixture_use_own_broker();
	struct account *account = account_new(delays);
	struct proc *proc = serve();
	let_queues_settle(account);
	int64_t longest_ms = 0;
	tally->unit = "kills";
	while (fault_next(tally)) {
		account_fill(account, LOAD, "drtx", 2);
		account_await_progress(account, 1 + fault_random_below(LOAD / 4));
		broker_command(fixture.broker, "kill");
		broker_command(fixture.broker, "restart");
		int64_t back = deadline_now_ms();
		fixture_reconnect();
		client_expect_consumers(fixture.client, fixture.queue, 1);
		int64_t took = deadline_now_ms() - back;
		longest_ms = took > longest_ms ? took : longest_ms;
	}
	account_await_settled(account);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	long repeats = account_close(account, tally);
	ck_assert_int_le(repeats, tally->trials * PREFETCH);
	snprintf(tally->note, sizeof tally->note, "consuming again within %lld ms of the broker",
		(long long)longest_ms);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 10, .name = "broker killed, restarted", .few = 2, .full = 100, .run = run});
}
