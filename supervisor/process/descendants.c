#include "process/descendants.h"

#include "os/proc_stat.h"
#include "process/held.h"
#include <assert.h>
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* Each round finds what was forked before the previous one stopped its parent. */
#define ROUNDS 100

/* Whether a process is below the root. */
enum place { UNKNOWN, BELOW, ELSEWHERE };

struct process {
	pid_t pid, parent;
	uint64_t start;
	enum place place;
};

/* By pid, ascending. */
struct processes {
	struct process *list; /* owned */
	size_t count, capacity;
};

struct descendants {
	struct process root;
	struct processes left; /* alone */
	struct processes seen; /* at the last look */
};

/* ---------- lists of processes ---------- */

static int by_pid(const void *a, const void *b)
{
	const struct process *left = a, *right = b;
	return (left->pid > right->pid) - (left->pid < right->pid);
}

static struct process *find(const struct processes *processes, pid_t pid)
{
	const struct process wanted = {.pid = pid};
	if (processes->count == 0)
		return NULL;
	return bsearch(&wanted, processes->list, processes->count, sizeof wanted, by_pid);
}

/* The same process, not another one with its number. */
static bool has(const struct processes *processes, const struct process *process)
{
	const struct process *found = find(processes, process->pid);
	return found && found->start == process->start;
}

static bool append(struct processes *processes, const struct process *process)
{
	if (processes->count == processes->capacity) {
		size_t capacity = processes->capacity ? 2 * processes->capacity : 64;
		struct process *list = realloc(processes->list, capacity * sizeof *list);
		if (!list)
			return false;
		processes->list = list;
		processes->capacity = capacity;
	}
	processes->list[processes->count++] = *process;
	return true;
}

static void release_processes(struct processes *processes)
{
	free(processes->list);
	*processes = (struct processes){0};
}

static bool read_process(pid_t pid, struct process *ret)
{
	struct proc_stat stat;
	if (!proc_stat_read(pid, &stat))
		return false;
	*ret = (struct process){.pid = pid, .parent = stat.parent, .start = stat.start};
	return true;
}

static void sort(struct processes *processes)
{
	if (processes->count > 0)
		qsort(processes->list, processes->count, sizeof *processes->list, by_pid);
}

/* All processes of the machine that we may see. False: out of memory, or no /proc. */
static bool read_all(struct processes *ret)
{
	struct processes all = {0};
	struct process process;
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	bool is_whole = dir != NULL;
	while (is_whole && (entry = readdir(dir))) {
		pid_t pid = (pid_t)atol(entry->d_name);
		if (pid > 0 && read_process(pid, &process))
			is_whole = append(&all, &process);
	}
	if (dir)
		closedir(dir);
	if (!is_whole) {
		release_processes(&all);
		return false;
	}
	sort(&all);
	*ret = all;
	return true;
}

/* ---------- who is below the root ---------- */

/* UNKNOWN: as its parent. */
static enum place place_by_itself(const struct descendants *descendants, struct process *process)
{
	if (process->place != UNKNOWN)
		return process->place;
	if (process->pid == descendants->root.pid)
		return process->start == descendants->root.start ? BELOW : ELSEWHERE;
	if (has(&descendants->left, process))
		return ELSEWHERE;
	return has(&descendants->seen, process) ? BELOW : UNKNOWN;
}

/* A parent is never younger than its child: one that is has the number of a parent that ended while
 * the list was read. NULL: it is not in the list. */
static struct process *find_parent(const struct processes *all, const struct process *process)
{
	struct process *parent = find(all, process->parent);
	return parent && parent->start <= process->start ? parent : NULL;
}

/* Follow the parents of one process up to the first whose place is known, and give that place to
 * each on the way, but to none above. The list is no moment's picture, so the way may be a circle.
 */
static void find_place(
	const struct descendants *descendants, const struct processes *all, struct process *process)
{
	enum place place = UNKNOWN;
	struct process *at = process, *end = NULL;
	for (size_t steps = 0; at && !end && steps <= all->count; steps++) {
		place = place_by_itself(descendants, at);
		if (place == UNKNOWN)
			at = find_parent(all, at);
		else
			end = at;
	}
	if (!end)
		place = ELSEWHERE;
	for (at = process; at && at != end && at->place == UNKNOWN; at = find_parent(all, at))
		at->place = place;
	if (end)
		end->place = place;
}

/* Where processes are hidden (proc(5), hidepid), so is the supervisor from the guard, because it
 * cannot be traced. While it is our parent, it was there when the list was read. False: out of
 * memory. */
static bool add_hidden_root(const struct descendants *descendants, struct processes *all)
{
	if (getppid() != descendants->root.pid || find(all, descendants->root.pid))
		return true;
	bool is_added = append(all, &descendants->root);
	sort(all);
	return is_added;
}

/* Those below the root, without it. False: out of memory. */
static bool read_below(const struct descendants *descendants, struct processes *ret)
{
	struct processes all, below = {0};
	if (!read_all(&all))
		return false;
	bool is_whole = add_hidden_root(descendants, &all);
	for (size_t i = 0; i < all.count && is_whole; i++) {
		struct process *process = &all.list[i];
		find_place(descendants, &all, process);
		if (process->place == BELOW && process->pid != descendants->root.pid)
			is_whole = append(&below, process);
	}
	release_processes(&all);
	if (is_whole)
		*ret = below;
	else
		release_processes(&below);
	return is_whole;
}

/* ---------- public ---------- */

struct descendants *descendants_new(void)
{
	struct descendants *descendants = calloc(1, sizeof *descendants);
	struct processes all = {0};
	if (!descendants || !read_process(getpid(), &descendants->root))
		return descendants; /* no /proc: none are seen */
	bool is_whole = read_all(&all);
	for (size_t i = 0; i < all.count && is_whole; i++)
		if (all.list[i].parent == descendants->root.pid)
			is_whole = append(&descendants->left, &all.list[i]);
	release_processes(&all);
	if (is_whole)
		return descendants;
	descendants_free(descendants); /* its present children would not be left alone */
	return NULL;
}

void descendants_free(struct descendants *descendants)
{
	if (!descendants)
		return;
	release_processes(&descendants->left);
	release_processes(&descendants->seen);
	free(descendants);
}

bool descendants_leave(struct descendants *descendants, pid_t child)
{
	struct process process;
	if (!read_process(child, &process))
		return true;
	if (!append(&descendants->left, &process))
		return false;
	sort(&descendants->left);
	return true;
}

bool descendants_is_left(const struct descendants *descendants, pid_t child)
{
	struct process process;
	return find(&descendants->left, child) && read_process(child, &process) &&
	       has(&descendants->left, &process);
}

bool descendants_has_left(const struct descendants *descendants)
{
	return descendants->left.count > 0;
}

void descendants_look(struct descendants *descendants)
{
	struct processes before = descendants->seen;
	/* What is below the root now, not what was. */
	descendants->seen = (struct processes){0};
	if (read_below(descendants, &descendants->seen))
		release_processes(&before);
	else
		descendants->seen = before;
}

size_t descendants_count(const struct descendants *descendants)
{
	return descendants->seen.count;
}

pid_t descendants_pid(const struct descendants *descendants, size_t index)
{
	assert(index < descendants->seen.count);
	return descendants->seen.list[index].pid;
}

static void signal_one(const struct process *process, int number)
{
	struct held held = held_open(process->pid);
	struct process now;
	if (read_process(process->pid, &now) && now.start == process->start)
		held_signal(&held, number);
	held_close(&held);
}

static void signal_each(const struct processes *processes, int number)
{
	for (size_t i = 0; i < processes->count; i++)
		signal_one(&processes->list[i], number);
}

/* A round without a new process is the last: all are stopped by then. */
void descendants_kill(struct descendants *descendants)
{
	bool is_new = true;
	for (int round = 0; is_new && round < ROUNDS; round++) {
		struct processes below;
		is_new = false;
		if (!read_below(descendants, &below))
			break;
		for (size_t i = 0; i < below.count; i++)
			is_new |= round == 0 || !has(&descendants->seen, &below.list[i]);
		release_processes(&descendants->seen);
		descendants->seen = below;
		signal_each(&descendants->seen, SIGSTOP);
	}
	signal_each(&descendants->seen, SIGKILL);
}
