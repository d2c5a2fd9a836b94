/* Pools are made larger and smaller, and restarted, by several operators at once and under load:
 * each operation is answered, no worker dies of it, and not one message is worked twice. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#include "harness/child.h"
#include "harness/control.h"
#include "harness/http.h"

#include <sys/wait.h>
#include <unistd.h>

#define LOAD          600 /* in the queue at each round, about */
#define PROGRESS      20  /* messages that are done between two rounds, at least */
#define OPERATORS     4
#define WORKERS_LIMIT 24
#define RESTARTS      4 /* one operation of so many is a restart */

static const char *const delays[] = {"100ms", NULL};

struct operation {
	char path[64];
	pid_t pid;
};

static void choose(struct operation *operation)
{
	if (fault_random_below(RESTARTS) == 0)
		snprintf(operation->path, sizeof operation->path, "/v1/restart");
	else
		snprintf(operation->path, sizeof operation->path, "/v1/pools/%s/scale?workers=%ld",
			fixture.queue, 1 + fault_random_below(WORKERS_LIMIT));
}

/* In a process of its own. */
static void begin(struct operation *operation)
{
	operation->pid = child_fork();
	if (operation->pid > 0)
		return;
	_exit(http_request(control_socket(), "POST", operation->path).status == 200 ? 0 : 1);
}

static void end(const struct operation *operation)
{
	int status;
	ck_assert_int_eq(waitpid(operation->pid, &status, 0), operation->pid);
	ck_assert_msg(status == 0, "%s was not answered as it should be", operation->path);
}

/* All at once, and each is over when this returns: the pool has only begun with it. */
static void operate(struct tally *tally)
{
	struct operation operations[OPERATORS];
	int count = 0;
	while (count < OPERATORS && (count == 0 || fault_next(tally)))
		choose(&operations[count++]);
	for (int i = 0; i < count; i++)
		begin(&operations[i]);
	for (int i = 0; i < count; i++)
		end(&operations[i]);
}

/* No worker died, and the counts of the pool are exact. */
static void expect_clean(long posted)
{
	json_t *answer = control_get_json("/v1/pools");
	const json_t *pool = control_member(answer, "pools", 0);
	ck_assert_int_eq(control_number(pool, "totals", "worker_deaths"), 0);
	ck_assert_int_eq(control_number(pool, "totals", "orphaned"), 0);
	ck_assert_int_eq(control_number(pool, "totals", "cut_short"), 0);
	ck_assert_int_ge(control_number(pool, "totals", "done"), posted);
	json_decref(answer);
}

static void run(struct tally *tally)
{
	struct account *account = account_new(delays);
	tally->unit = "operations";
	account_fill(account, LOAD, "drdt", 0);
	struct proc *proc =
		fault_serve("workers: 4, prefetch: 300, retry: {attempts: 3, delay: [100ms]}");
	long memory = 0;
	while (fault_next(tally)) {
		operate(tally);
		account_await_progress(account, PROGRESS + fault_random_below(PROGRESS));
		account_fill(account, LOAD, "drdt", 0);
		if (memory == 0 && fault_share(tally) >= 0.5)
			memory = watch_memory_kib(proc_pid(proc));
	}
	account_await_settled(account);
	expect_clean(account_posted(account));
	tally->drift_kib = watch_memory_kib(proc_pid(proc)) - memory;
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	ck_assert_int_eq(account_close(account, tally), 0);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){.row = 24,
		.name = "scaled, restarted under load",
		.few = 60,
		.full = 1000,
		.run = run});
}
