/* Messages that kill their worker, at random places among good ones: each is a dead letter after
 * its attempts, no other message is, and no good task is done twice. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#define FROM 50 /* one of so many is poison */
#define AHEAD                                                                                      \
	1000 /* in the queue at most when more are posted: copies join its tail, among good ones   \
	      */

static const char *const delays[] = {"100ms", NULL};

static struct proc *serve(void)
{
	return fault_serve("workers: 8, pipeline: 16, retry: {attempts: 3, delay: [100ms]}");
}

/* One poison message a trial, at a random place. */
static void run(struct tally *tally)
{
	struct account *account = account_new(delays);
	struct proc *proc = serve();
	tally->unit = "poison";
	while (fault_next(tally)) {
		char fates[FROM + 1] = "";
		for (int i = 0; i < FROM; i++)
			fates[i] = "dddrt"[i % 5];
		fates[fault_random_below(FROM)] = 'p';
		account_await_backlog(AHEAD);
		account_post(account, FROM, fates, 0);
	}
	account_await_settled(account);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	ck_assert_int_eq(account_close(account, tally), 0);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 15, .name = "poison message", .few = 10, .full = 200, .run = run});
}
