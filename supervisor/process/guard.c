#include "process/guard.h"

#include "base/log.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/proc_stat.h"
#include "os/rundir.h"
#include "process/cgroups.h"
#include "process/descendants.h"
#include "process/mark.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The list is in memory that both processes share: nothing has to be sent, so nothing is lost when
 * the supervisor dies, or blocks when the guard is slow. Pages that are never touched cost nothing.
 */
#define GUARD_GROUPS 131072
/* Users of workers. More than there are accounts for workers on any machine. */
#define GUARD_USERS 1024

/* The pause between two rounds of kills. A process that was being forked in the first round is
 * found in the second. */
#define GUARD_PAUSE_NS 20000000L
/* Signals to a group of zombies succeed for ever. */
#define GUARD_GROUP_ROUNDS 2
/* Then the guard gives up: a process has forked faster than it kills for 2 s. */
#define GUARD_ROUNDS 100

/* The pause between two looks at the processes below the supervisor. On a machine with so many that
 * a look takes long, pauses are longer, so that looks take a hundredth of a processor. */
#define GUARD_LOOK      MTIME_SECOND
#define GUARD_LOOK_REST 100

/* How much later than the supervisor it ends the workers of a lease. */
#define GUARD_LEASE_GRACE (500 * MTIME_MS)

struct guard_list {
	atomic_int used; /* entries from here on were never given out; 0 in one before: free */
	atomic_int groups[GUARD_GROUPS];
	atomic_ulong starts[GUARD_GROUPS];    /* proc_stat.start of the leaders; 0: unknown */
	atomic_uint leases[GUARD_GROUPS];     /* their leases; 0: none */
	atomic_uint lease_max;                /* no lease with a higher number was ever set */
	atomic_llong until[GUARD_LEASES + 1]; /* the end of each lease; 0: no limit */
	atomic_int user_count;
	uid_t users[GUARD_USERS];
};

struct guard {
	struct guard_list *list; /* shared with the guard process */
	char *directory;         /* owned */
	char *cgroup;            /* owned; or NULL */
	char mark[MARK_RUN_SIZE];
	struct descendants *descendants; /* borrowed; or NULL */
	int pipe;                        /* its writing end, never written; -1: none */
	pid_t pid;
};

/* ---------- the guard ---------- */

/* True: the leader has ended, and its number is another's. While one of the group lives, the number
 * is not given to another process. */
static bool is_taken_over(pid_t group, unsigned long start)
{
	struct proc_stat stat;
	return start && proc_stat_read(group, &stat) && (unsigned long)stat.start != start;
}

/* lease: only the groups of this one; 0: all. */
static int kill_groups(struct guard_list *list, unsigned lease)
{
	int used = atomic_load(&list->used), killed = 0;
	for (int i = 0; i < used && i < GUARD_GROUPS; i++) {
		int group = atomic_load(&list->groups[i]);
		unsigned long start = atomic_load(&list->starts[i]);
		if (lease > 0 && atomic_load(&list->leases[i]) != lease)
			continue;
		if (group > 1 && !is_taken_over(group, start) && kill(-group, SIGKILL) == 0)
			killed++;
	}
	return killed;
}

/* Repeat until a round finds no process with our mark. */
static void kill_all(const struct guard *guard)
{
	struct guard_list *list = guard->list;
	size_t users = (size_t)atomic_load(&list->user_count);
	for (int round = 0; round < GUARD_ROUNDS; round++) {
		int killed = round < GUARD_GROUP_ROUNDS ? kill_groups(list, 0) : 0;
		killed += mark_kill_all(guard->mark, list->users, users);
		if (killed == 0)
			break;
		nanosleep(&(struct timespec){0, GUARD_PAUSE_NS}, NULL);
	}
}

/* A lease that the supervisor prolongs at this moment goes on. */
static void end_lease(struct guard_list *list, unsigned lease, long long until)
{
	if (!atomic_compare_exchange_strong(&list->until[lease], &until, 0))
		return;
	for (int round = 0; round < GUARD_GROUP_ROUNDS; round++) {
		kill_groups(list, lease);
		nanosleep(&(struct timespec){0, GUARD_PAUSE_NS}, NULL);
	}
}

/* End the leases that are over. Return when the next one is. */
static mtime end_leases(struct guard_list *list)
{
	unsigned max = atomic_load(&list->lease_max);
	mtime now = clock_boot(), next = MTIME_NEVER;
	for (unsigned lease = 1; lease <= max; lease++) {
		mtime until = atomic_load(&list->until[lease]);
		if (until > 0 && now >= until + GUARD_LEASE_GRACE)
			end_lease(list, lease, until);
		else if (until > 0)
			next = mtime_min(next, until + GUARD_LEASE_GRACE);
	}
	return next;
}

static mtime find_descendants(struct descendants *descendants)
{
	mtime began = clock_boot(), pause = GUARD_LOOK;
	descendants_look(descendants);
	return mtime_max(pause, (clock_boot() - began) * GUARD_LOOK_REST);
}

/* Wait for the end of the pipe, and look around meanwhile. */
static void watch(struct guard_list *list, struct descendants *descendants, int pipe)
{
	struct pollfd poller = {.fd = pipe, .events = POLLIN};
	mtime look_at = clock_boot() + GUARD_LOOK;
	for (;;) {
		mtime now = clock_boot(), next = mtime_min(end_leases(list), now + GUARD_LOOK);
		mtime wait = mtime_max(mtime_min(next, look_at) - now, 0);
		int ready = poll(&poller, 1, (int)(wait / MTIME_MS) + 1);
		char byte;
		if (ready > 0 && read(pipe, &byte, 1) == 0)
			return;
		if (clock_boot() < look_at)
			continue;
		mtime pause = descendants ? find_descendants(descendants) : GUARD_LOOK;
		look_at = clock_boot() + pause;
	}
}

static _Noreturn void guard_process(const struct guard *guard, int pipe)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigset_t none;
	setsid();
	prctl(PR_SET_NAME, "wpool-guard");
	for (int number = 1; number < NSIG; number++)
		sigaction(number, &ignore, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* It must not keep the writing end of its own pipe: it would wait for itself. */
	dup2(pipe, 0);
	descriptors_range(1, 0);
	struct descendants *descendants = guard->descendants;
	if (descendants && !descendants_leave(descendants, getpid()))
		descendants = NULL; /* out of memory: it would kill itself */
	watch(guard->list, descendants, 0);
	if (descendants)
		descendants_kill(descendants);
	kill_all(guard);
	for (int round = 0; guard->cgroup && round < GUARD_ROUNDS; round++) {
		if (cgroups_remove(guard->cgroup))
			break;
		nanosleep(&(struct timespec){0, GUARD_PAUSE_NS}, NULL);
	}
	rundir_remove(guard->directory);
	_exit(0);
}

/* ---------- the supervisor's side ---------- */

static enum rc guard_fork(struct guard *guard)
{
	int ends[2];
	sigset_t all, before;
	guard->pid = -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return RC_SYSTEM;
	guard->pipe = ends[1];
	/* No signal reaches it before it ignores them: a terminal sends to a whole process group.
	 */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	guard->pid = fork();
	if (guard->pid == 0)
		guard_process(guard, ends[0]);
	int error = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[0]);
	errno = error;
	return guard->pid < 0 ? RC_SYSTEM : RC_OK;
}

static void guard_release(struct guard *guard)
{
	int error = errno;
	descriptor_close(&guard->pipe);
	if (guard->list)
		munmap(guard->list, sizeof *guard->list);
	free(guard->directory);
	free(guard->cgroup);
	free(guard);
	errno = error;
}

enum rc guard_start(const struct guard_run *run, struct guard **ret)
{
	struct guard *guard = calloc(1, sizeof *guard);
	if (!guard)
		return RC_MEMORY;
	guard->pipe = -1;
	guard->directory = strdup(run->directory);
	guard->cgroup = run->cgroup ? strdup(run->cgroup) : NULL;
	guard->descendants = run->descendants;
	snprintf(guard->mark, sizeof guard->mark, "%s", run->mark);
	if (!guard->directory || (run->cgroup && !guard->cgroup)) {
		guard_release(guard);
		return RC_MEMORY;
	}
	void *memory = mmap(NULL, sizeof *guard->list, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		guard_release(guard);
		return RC_SYSTEM;
	}
	guard->list = memory;
	enum rc rc = guard_fork(guard);
	if (rc != RC_OK)
		guard_release(guard);
	else
		*ret = guard;
	return rc;
}

enum rc guard_restart(struct guard *guard)
{
	descriptor_close(&guard->pipe);
	return guard_fork(guard);
}

pid_t guard_pid(const struct guard *guard)
{
	return guard->pid;
}

/* The index of a group, or of the first free entry for 0; -1: there is none. */
static int find(const struct guard *guard, int group)
{
	int used = atomic_load_explicit(&guard->list->used, memory_order_relaxed);
	for (int i = 0; i < used; i++)
		if (atomic_load_explicit(&guard->list->groups[i], memory_order_relaxed) == group)
			return i;
	return -1;
}

atomic_int *guard_place(struct guard *guard, unsigned lease)
{
	int place = find(guard, 0);
	if (place < 0) {
		place = atomic_load(&guard->list->used);
		if (place == GUARD_GROUPS) {
			log_warn(
				"guard: the list of process groups is full: what that worker starts "
				"would outlive a killed wpool");
			return NULL;
		}
		atomic_store(&guard->list->used, place + 1);
	}
	atomic_store(&guard->list->leases[place], lease);
	return &guard->list->groups[place];
}

void guard_set_lease(struct guard *guard, unsigned lease, mtime until)
{
	struct guard_list *list = guard->list;
	if (lease > atomic_load_explicit(&list->lease_max, memory_order_relaxed))
		atomic_store(&list->lease_max, lease);
	atomic_store(&list->until[lease], until);
}

void guard_know(struct guard *guard, pid_t group)
{
	struct proc_stat stat;
	int place = find(guard, group);
	if (place >= 0 && proc_stat_read(group, &stat))
		atomic_store(&guard->list->starts[place], (unsigned long)stat.start);
}

void guard_remove(struct guard *guard, pid_t group)
{
	int place = find(guard, group);
	if (place < 0)
		return;
	atomic_store(&guard->list->starts[place], 0);
	atomic_store(&guard->list->groups[place], 0);
}

void guard_allow_user(struct guard *guard, uid_t user)
{
	struct guard_list *list = guard->list;
	int count = atomic_load_explicit(&list->user_count, memory_order_relaxed);
	for (int i = 0; i < count; i++)
		if (list->users[i] == user)
			return;
	if (count == GUARD_USERS) {
		log_warn("guard: the list of users is full: what workers of user %u start could "
			 "outlive a killed wpool",
			(unsigned)user);
		return;
	}
	list->users[count] = user;
	atomic_store(&list->user_count, count + 1);
}

void guard_stop(struct guard *guard)
{
	if (!guard)
		return;
	descriptor_close(&guard->pipe);
	if (guard->pid > 0) {
		kill(guard->pid, SIGCONT); /* it may be stopped */
		while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	guard_release(guard);
}
