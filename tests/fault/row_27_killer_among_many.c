/* Messages that kill their worker, at random places, while it holds a hundred tasks, with a single
 * attempt: each is a dead letter, no other message is, and each other message is done. A task that
 * was open when its worker died may have been done before and is done again; these are repeats. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#include <stdio.h>

#define WORKERS     4
#define CONCURRENCY 100
#define FROM        200 /* one of so many kills its worker */
#define TASK_MS     10  /* so that all places are taken */

static const char *const delays[] = {NULL};

static struct proc *serve(void)
{
	return fault_serve(
		"workers: %d, concurrency: %d, retry: {attempts: 1}", WORKERS, CONCURRENCY);
}

/* One killer a trial. All are in the queue before the first worker starts. */
static void post(struct account *account, struct tally *tally)
{
	while (fault_next(tally)) {
		char fates[FROM + 1] = "";
		for (int i = 0; i < FROM; i++)
			fates[i] = 'd';
		fates[fault_random_below(FROM)] = 'p';
		account_post(account, FROM, fates, TASK_MS);
	}
}

/* A killer takes others with it, once, and dies alone then. Killers in the same worker take the
 * others with them together. */
static void expect_deaths(struct proc *proc, struct tally *tally, double seconds)
{
	int deaths = proc_count_logged(proc, "worker died: "),
	    alone = proc_count_logged(proc, ", attempt 1 of 1; given up");
	ck_assert_int_eq(alone, tally->trials);
	ck_assert_int_ge(deaths, alone);
	ck_assert_int_le(deaths, 2 * alone);
	snprintf(tally->note, sizeof tally->note,
		"%d deaths with several open tasks, %d with one; all done after %.0f s",
		deaths - alone, alone, seconds);
	fprintf(stderr, "%s\n", tally->note);
}

static void run(struct tally *tally)
{
	struct account *account = account_new(delays);
	tally->unit = "killers";
	post(account, tally);
	int64_t begun = deadline_now_ms();
	struct proc *proc = serve();
	account_await_settled(account);
	double seconds = (double)(deadline_now_ms() - begun) / 1000;
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	expect_deaths(proc, tally, seconds);
	long repeats = account_close(account, tally);
	ck_assert_int_le(repeats, tally->trials * CONCURRENCY);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 27, .name = "killer among many at once", .few = 5, .full = 50, .run = run});
}
