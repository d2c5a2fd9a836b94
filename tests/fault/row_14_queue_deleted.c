/* The queue is deleted and declared again while it has a consumer: the broker cancels the consumer,
 * and the supervisor retries until the queue is back. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#include <stdio.h>

#define LOAD    40
#define BACK_MS 5000 /* within this of its return, the queue is consumed again */

static const char *const delays[] = {"100ms", NULL};

static void run(struct tally *tally)
{
	struct account *account = account_new(delays);
	struct proc *proc = fixture_serve_echo(NULL);
	int64_t longest_ms = 0;
	long late = 0;
	tally->unit = "deletions";
	while (fault_next(tally)) {
		account_post(account, LOAD, "drtx", 0);
		account_await_settled(account);
		client_delete(fixture.client, fixture.queue);
		proc_expect(proc, "looking for it again");
		client_declare(fixture.client, fixture.queue, CLIENT_QUORUM);
		int64_t begun = deadline_now_ms();
		client_expect_consumers(fixture.client, fixture.queue, 1);
		int64_t took = deadline_now_ms() - begun;
		longest_ms = took > longest_ms ? took : longest_ms;
		late += took > BACK_MS;
	}
	account_post(account, LOAD, "drtx", 0);
	account_await_settled(account);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	ck_assert_int_eq(account_close(account, tally), 0);
	snprintf(tally->note, sizeof tally->note,
		"consumed again within %lld ms of its return, %ld over %d ms",
		(long long)longest_ms, late, BACK_MS);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){.row = 14,
		.name = "queue deleted, consumer cancelled",
		.few = 5,
		.full = 100,
		.run = run});
}
