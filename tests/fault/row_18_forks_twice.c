/* Workers that fork twice, into sessions of their own, or once, into their group; and end, or work
 * on. The supervisor is PID 1 of its namespace, or a process like others; it is stopped, or killed.
 * What a worker left is gone when the worker is, and before that it is let be. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORKERS 30 /* each leaves one, or each evil task does */
#define LOAD    60 /* good tasks in a round */

static const char *const delays[] = {"100ms", NULL};
static const char *const manners[] = {
	"grandchild-then-exit", "leave-grandchild", "leave-group-member"};

struct outcome {
	bool can_be_first;  /* namespaces are to be had */
	long after_workers; /* longest until what ended workers left was gone, in ms */
	long after_wpool;
	long as_first; /* trials as PID 1 */
};

static bool has_namespaces(void)
{
	const char *const argv[] = {"unshare", "-pf", "--mount-proc", "true", NULL};
	struct proc *proc = proc_start(fixture.folder, argv, NULL);
	bool can = proc_wait(proc) == 0;
	proc_free(proc);
	return can;
}

static struct proc *serve(const char *behaviour, bool is_first)
{
	static const char *const first[] = {"unshare", "-pf", "--kill-child", "--mount-proc", NULL};
	static const char *const plain[] = {"env", NULL};
	char *pool = scratch_text(
		"- {queue: %s, command: [\"%s\", \"%s\", \"EVIL\"], workers: %d, pipeline: 1,\n"
		"   retry: {attempts: 1, delay: [100ms]}}\n",
		fixture.queue, fixture_built("workers/evil"), behaviour, WORKERS);
	struct proc *proc = fixture_serve_under(is_first ? first : plain, pool);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	free(pool);
	return proc;
}

static pid_t supervisor_of(const struct proc *proc, bool is_first)
{
	pid_t pid = proc_pid(proc);
	if (is_first)
		ck_assert_int_eq(watch_children(proc_pid(proc), "wpool", &pid, 1), 1);
	return pid;
}

/* Whether it came of this test's wpool, and lives: by what it inherited. */
static bool is_family(pid_t pid)
{
	size_t size = 0;
	char *comm_path = scratch_text("/proc/%d/comm", (int)pid);
	char *path = scratch_text("/proc/%d/environ", (int)pid);
	char *comm = scratch_read(comm_path, NULL);
	char *environment = scratch_read(path, &size);
	bool is = comm && environment && strcmp(comm, "evil\n") == 0 &&
		  memmem(environment, size, fixture.witness, strlen(fixture.witness));
	free(environment);
	free(comm);
	free(path);
	free(comm_path);
	return is;
}

/* Workers lead sessions; strays are in those of others. with_workers: both. */
static int count_family(bool with_workers)
{
	int count = 0;
	DIR *proc = opendir("/proc");
	ck_assert_ptr_nonnull(proc);
	for (struct dirent *entry; (entry = readdir(proc));) {
		pid_t pid = (pid_t)atol(entry->d_name);
		if (pid > 0 && is_family(pid))
			count += with_workers || getsid(pid) != pid;
	}
	closedir(proc);
	return count;
}

static void expect_family(int count, bool with_workers, long *longest_ms)
{
	int64_t begun = deadline_now_ms(), deadline = deadline_in(DEADLINE_DEFAULT_MS);
	int seen;
	while ((seen = count_family(with_workers)) != count) {
		ck_assert_msg(deadline_left(deadline) > 0, "%d live, not %d", seen, count);
		poll(NULL, 0, 10);
	}
	if (deadline_now_ms() - begun > *longest_ms)
		*longest_ms = (long)(deadline_now_ms() - begun);
}

/* A zombie that stays is not reaped. */
static void expect_no_zombie(pid_t supervisor)
{
	char *path = scratch_text("/proc/%d/task/%d/children", (int)supervisor, (int)supervisor);
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	bool is_clean = false;
	while (!is_clean) {
		ck_assert_msg(deadline_left(deadline) > 0, "a child is not reaped");
		is_clean = true;
		char *text = scratch_read(path, NULL), *rest = NULL;
		for (char *one = text ? strtok_r(text, " \n", &rest) : NULL; one;
			one = strtok_r(NULL, " \n", &rest)) {
			char *stat_path = scratch_text("/proc/%s/stat", one);
			char *stat = scratch_read(stat_path, NULL);
			is_clean &= !stat || !strstr(stat, ") Z ");
			free(stat);
			free(stat_path);
		}
		free(text);
		poll(NULL, 0, is_clean ? 0 : 10);
	}
	free(path);
}

static void post(int evil, struct account *account)
{
	account_post(account, LOAD / 2, "d", 0);
	for (int i = 0; i < evil; i++)
		client_send(fixture.client, fixture.queue, "EVIL");
	account_post(account, LOAD / 2, "d", 0);
	account_await_settled(account);
}

static void expect_dead(int count)
{
	for (int i = 0; i < count; i++)
		client_expect(fixture.client, fixture.dead, "EVIL");
}

static void end(struct proc *proc, pid_t supervisor, bool is_killed, struct tally *tally)
{
	kill(supervisor, is_killed ? SIGKILL : SIGTERM);
	int code = proc_wait(proc);
	if (!is_killed)
		ck_assert_int_eq(code, 0);
	watch_note_turns(proc, tally);
}

static void trial(
	int round, int count, struct account *account, struct tally *tally, struct outcome *outcome)
{
	bool is_first = outcome->can_be_first && round % 2 == 0;
	bool leaves = round % 3 == 0; /* the worker itself */
	struct proc *proc = serve(manners[round % 3], is_first);
	pid_t supervisor = supervisor_of(proc, is_first);
	post(leaves ? count : 0, account);
	expect_family(leaves ? 0 : WORKERS, false, &outcome->after_workers);
	expect_no_zombie(supervisor);
	end(proc, supervisor, round / 6 % 2 == 1, tally);
	expect_family(0, true, &outcome->after_wpool);
	fixture_free_program(proc);
	expect_dead(leaves ? count : 0);
	account_close(account, tally);
	outcome->as_first += is_first ? count : 0;
}

static void run(struct tally *tally)
{
	struct account *account = account_new(delays);
	struct outcome outcome = {.can_be_first = has_namespaces()};
	tally->unit = "strays";
	for (int round = 0, count; (count = fault_take(tally, WORKERS)) > 0; round++)
		trial(round, count, account, tally, &outcome);
	ck_assert_int_eq(tally->repeats, 0);
	snprintf(tally->note, sizeof tally->note,
		"%ld under PID 1%s; gone %ld ms after their workers, %ld ms after wpool at the latest",
		outcome.as_first, outcome.can_be_first ? "" : " (no namespaces here)",
		outcome.after_workers, outcome.after_wpool);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){.row = 18,
		.name = "workers that fork twice",
		.few = 180,
		.full = 1000,
		.run = run});
}
