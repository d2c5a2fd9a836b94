/* Replies that cannot be delivered: to a missing queue, with a header that AMQP cannot carry,
 * larger than the broker accepts. Each such task becomes a dead letter, the policy of the pool, and
 * the replies of the other tasks arrive. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#include <stdio.h>
#include <string.h>

/* The largest message is 64 KiB; 3.10 and 4.0 keep that in different places. */
#define LOWER_LIMIT                                                                                \
	"application:set_env(rabbit, max_message_size, 65536), "                                   \
	"persistent_term:put(max_message_size, 65536)"
#define FATES_OF_A_TRIAL "drnrudrbrt"
#define AHEAD            300

static const char *const delays[] = {"100ms", NULL};

static struct proc *serve(void)
{
	return fault_serve("workers: 4, pipeline: 8, retry: {attempts: 3, delay: [100ms]}");
}

static void run(struct tally *tally)
{
	fixture_use_own_broker();
	free(broker_eval(fixture.broker, LOWER_LIMIT));
	struct account *account = account_new(delays);
	struct proc *proc = serve();
	tally->unit = "of each";
	while (fault_next(tally)) {
		account_await_backlog(AHEAD);
		account_post(account, (long)strlen(FATES_OF_A_TRIAL), FATES_OF_A_TRIAL, 0);
	}
	account_await_settled(account);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	/* The refused publish is found by publishing several again, so each reply may arrive twice.
	 */
	snprintf(tally->note, sizeof tally->note, "%ld replies published twice",
		account_close(account, tally));
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){.row = 12,
		.name = "reply unroutable, unfit, refused",
		.few = 30,
		.full = 1000,
		.run = run});
}
