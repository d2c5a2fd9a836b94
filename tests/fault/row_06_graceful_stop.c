/* SIGTERM under load, again and again: the supervisor finishes started tasks, requeues the others,
 * and exits with 0. The next supervisor continues, and no task is repeated. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#include <signal.h>

#define LOAD     600 /* in the queue at each stop, about */
#define PROGRESS 40  /* messages that each supervisor gets done at least */

static const char *const delays[] = {"100ms", NULL};

/* Deep pipes, a wide window and tasks of different length: at the stop tasks are in every state,
 * and they do not end in the order of their tags. */
static struct proc *serve(void)
{
	return fault_serve("workers: 8, pipeline: 8, prefetch: 300, "
			   "retry: {attempts: 3, delay: [100ms]}");
}

static void run(struct tally *tally)
{
	struct account *account = account_new(delays);
	tally->unit = "stops";
	account_fill(account, LOAD, "drdt", 0);
	while (fault_next(tally)) {
		struct proc *proc = serve();
		account_await_progress(account, PROGRESS + fault_random_below(PROGRESS));
		fixture_stop(proc);
		watch_note_turns(proc, tally);
		fixture_free_program(proc);
		account_fill(account, LOAD, "drdt", 0);
	}
	struct proc *last = serve();
	account_await_settled(account);
	fixture_stop(last);
	ck_assert_int_eq(account_close(account, tally), 0);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 6, .name = "graceful stop under load", .few = 40, .full = 1000, .run = run});
}
