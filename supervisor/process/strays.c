#include "process/strays.h"

#include "base/log.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/proc_stat.h"
#include "process/cgroups.h"
#include "process/descendants.h"
#include "process/fork_into.h"
#include "process/mark.h"
#include "process/reaper.h"
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define LOOK_AGAIN 0.5 /* s; far longer than an exec */
#define LOGGED_MAX 10

/* A look takes 0.3 ms with 1,000 workers, and 10 ms with an orphan of each in its group; workers
 * and orphans may end all the time. The pause after a look is so many times as long. */
#define LOOK_REST 20

/* How many processes one turn of the loop looks at: a few milliseconds. Workers may leave tens of
 * thousands. */
#define LOOK_PART 100

/* An orphan. The reaper reports its end, and then its children are ours. */
struct stray {
	struct link link;
	struct strays *strays;
	uint64_t life;  /* in its mark; 0: it has none */
	uint64_t start; /* proc_stat.start */
	uint64_t look;  /* the number of the latest look at it */
	pid_t pid;
	bool is_suspect; /* without a mark at one look: during an exec none can be read */
	bool is_logged;  /* without a mark at two */
};

struct strays {
	struct ev_loop *loop;
	struct reaper *reaper;
	const char *run;
	struct cgroups *cgroups; /* or NULL */
	const struct descendants *descendants;
	bool is_sole_parent; /* all orphans are of workers */
	uint64_t last;       /* number of a life */
	mtime rested;        /* no look before */
	struct link living;  /* stray_life */
	struct link seen;    /* struct stray; in a look those that it has not come to are first */
	ev_timer look;       /* active: a look is due, or has its next part */

	uint64_t looks; /* the number of this look */
	bool is_in_look;
	bool is_settled; /* none has to be looked at once more */
	bool is_wanted;  /* another look, since this one has read the list of children */
	pid_t *children; /* owned; those that are not known, and that it has not come to */
	size_t child_count;
	size_t logged;
	mtime taken; /* by its parts */
};

static void look_after(struct strays *strays, double seconds)
{
	double rest = (double)(strays->rested - clock_now()) / MTIME_SECOND;
	if (strays->is_in_look) {
		strays->is_wanted = true;
		return;
	}
	if (seconds < rest)
		seconds = rest;
	if (ev_is_active(&strays->look) &&
		ev_timer_remaining(strays->loop, &strays->look) <= seconds)
		return;
	ev_timer_stop(strays->loop, &strays->look);
	ev_timer_set(&strays->look, seconds, 0);
	ev_timer_start(strays->loop, &strays->look);
}

static void look_soon(struct strays *strays)
{
	look_after(strays, 0);
}

static void on_stranger(void *ctx)
{
	look_soon(ctx);
}

static void on_stray_exit(void *ctx, pid_t pid, struct exit_info exit)
{
	struct stray *stray = ctx;
	(void)pid;
	(void)exit;
	look_soon(stray->strays);
	list_remove(&stray->link);
	free(stray);
}

static bool is_living(const struct strays *strays, uint64_t life)
{
	for (struct link *link = strays->living.next; link != &strays->living; link = link->next)
		if (CONTAINER_OF(link, struct stray_life, living)->number == life)
			return true;
	return false;
}

/* Some worker that lives may have started it. Times are equal within a tick. */
static bool may_be_of_living(const struct strays *strays, uint64_t start)
{
	for (struct link *link = strays->living.next; link != &strays->living; link = link->next)
		if (CONTAINER_OF(link, struct stray_life, living)->began <= start)
			return true;
	return false;
}

/* Out of memory: the next look finds it again. */
static void add_stray(struct strays *strays, pid_t pid, uint64_t start)
{
	struct stray *stray = malloc(sizeof *stray);
	if (!stray || !reaper_watch(strays->reaper, pid, on_stray_exit, stray)) {
		free(stray);
		return;
	}
	*stray = (struct stray){.strays = strays, .start = start, .pid = pid};
	list_append(&strays->seen, &stray->link);
}

/* Read the list of children that the supervisor did not start. Out of memory: the next look finds
 * the others. */
static void read_children(struct strays *strays)
{
	char path[64];
	int pid;
	size_t capacity = 0;
	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	FILE *file = fopen(path, "re");
	while (file && fscanf(file, "%d", &pid) == 1) {
		if (reaper_knows(strays->reaper, pid))
			continue;
		if (strays->child_count == capacity) {
			capacity = capacity ? 2 * capacity : 64;
			pid_t *children = realloc(strays->children, capacity * sizeof *children);
			if (!children)
				break;
			strays->children = children;
		}
		strays->children[strays->child_count++] = pid;
	}
	if (file)
		fclose(file);
}

/* Those in the process group of a worker that lives are killed with that. It may have been reaped
 * since the list was read, and another process may have its number. False: there is none left. */
static bool look_at_child(struct strays *strays)
{
	struct proc_stat stat;
	if (strays->child_count == 0)
		return false;
	pid_t pid = strays->children[--strays->child_count];
	if (reaper_knows(strays->reaper, pid) || reaper_knows(strays->reaper, getpgid(pid)) ||
		descendants_is_left(strays->descendants, pid) ||
		(strays->cgroups && cgroups_holds(strays->cgroups, pid)))
		return true;
	if (proc_stat_read(pid, &stat) && stat.state != 'Z' && stat.parent == getpid())
		add_stray(strays, pid, stat.start);
	return true;
}

/* A worker may leave thousands: a few are named in each look. */
static void log_unmarked(struct strays *strays, struct stray *stray)
{
	const char *until = strays->is_sole_parent ? "when the workers of its time have ended"
						   : "when wpool ends";
	stray->is_logged = true;
	if (strays->logged++ < LOGGED_MAX)
		log_warn("process %d has left its worker: it has neither its process group nor a "
			 "mark that can be read; it is killed %s",
			(int)stray->pid, until);
}

static void log_others(struct strays *strays)
{
	if (strays->logged > LOGGED_MAX)
		log_warn("%zu more processes have left their workers", strays->logged - LOGGED_MAX);
	strays->logged = 0;
}

/* False: it has to be looked at once more. */
static bool judge_unmarked(struct strays *strays, struct stray *stray, bool *ret_is_over)
{
	struct proc_stat stat;
	*ret_is_over = false;
	if (!proc_stat_read(stray->pid, &stat) || stat.state == 'Z')
		return true;
	if (!stray->is_logged && !stray->is_suspect) {
		stray->is_suspect = true;
		return false;
	}
	if (!stray->is_logged)
		log_unmarked(strays, stray);
	*ret_is_over = strays->is_sole_parent && !may_be_of_living(strays, stray->start);
	return true;
}

/* False: this look has come to all. */
static bool look_at_stray(struct strays *strays)
{
	struct link *link = list_first(&strays->seen);
	struct stray *stray = link ? CONTAINER_OF(link, struct stray, link) : NULL;
	bool is_over;
	if (!stray || stray->look == strays->looks)
		return false;
	stray->look = strays->looks;
	list_remove(link);
	list_append(&strays->seen, link);
	if (!stray->life)
		(void)mark_read(stray->pid, strays->run, &stray->life);
	if (stray->life)
		is_over = !is_living(strays, stray->life);
	else
		strays->is_settled &= judge_unmarked(strays, stray, &is_over);
	if (!is_over)
		return true;
	log_debug("killing process %d, which a worker left behind", (int)stray->pid);
	kill(stray->pid, SIGKILL); /* ours to reap, so the number is still its own */
	return true;
}

static void begin_look(struct strays *strays)
{
	strays->is_in_look = strays->is_settled = true;
	strays->is_wanted = false;
	strays->taken = 0;
	strays->looks++;
	if (strays->cgroups)
		cgroups_sweep(strays->cgroups);
	read_children(strays);
}

/* False: there is more to look at. */
static bool look_at_part(struct strays *strays)
{
	for (int i = 0; i < LOOK_PART; i++)
		if (!look_at_child(strays) && !look_at_stray(strays))
			return true;
	return false;
}

static void end_look(struct strays *strays)
{
	bool is_wanted = strays->is_wanted;
	free(strays->children);
	strays->children = NULL;
	strays->is_in_look = false;
	log_others(strays);
	strays->rested = clock_now() + LOOK_REST * strays->taken;
	if (is_wanted)
		look_soon(strays);
	else if (!strays->is_settled)
		look_after(strays, LOOK_AGAIN);
}

static void on_look(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)events;
	struct strays *strays = timer->data;
	mtime began = clock_now();
	if (!strays->is_in_look)
		begin_look(strays);
	bool is_over = look_at_part(strays);
	strays->taken += clock_now() - began;
	if (is_over) {
		end_look(strays);
	} else {
		ev_timer_set(timer, 0, 0);
		ev_timer_start(loop, timer);
	}
}

struct strays *strays_new(struct ev_loop *loop, struct reaper *reaper, const char *run,
	struct cgroups *cgroups, const struct descendants *descendants)
{
	struct strays *strays = calloc(1, sizeof *strays);
	if (!strays)
		return NULL;
	strays->loop = loop;
	strays->reaper = reaper;
	strays->run = run;
	strays->cgroups = cgroups;
	strays->descendants = descendants;
	strays->is_sole_parent = getpid() != 1 && !descendants_has_left(descendants);
	list_init(&strays->living);
	list_init(&strays->seen);
	ev_timer_init(&strays->look, on_look, 0, 0);
	strays->look.data = strays;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	reaper_set_stranger_handler(reaper, on_stranger, strays);
	return strays;
}

void strays_free(struct strays *strays)
{
	struct link *link;
	if (!strays)
		return;
	ev_timer_stop(strays->loop, &strays->look);
	reaper_set_stranger_handler(strays->reaper, NULL, NULL);
	free(strays->children);
	while ((link = list_first(&strays->seen))) {
		struct stray *stray = CONTAINER_OF(link, struct stray, link);
		reaper_forget(strays->reaper, stray->pid);
		list_remove(link);
		free(stray);
	}
	free(strays);
}

const char *strays_run(const struct strays *strays)
{
	return strays->run;
}

void strays_begin(struct strays *strays, struct stray_life *life)
{
	life->number = ++strays->last;
	life->began = proc_stat_now();
	list_append(&strays->living, &life->living);
}

int strays_open_group(
	struct strays *strays, const struct stray_life *life, const struct cgroup_limits *limits)
{
	return strays->cgroups ? cgroups_begin(strays->cgroups, life->number, limits) : -1;
}

bool strays_enter_group(struct strays *strays, const struct stray_life *life,
	const struct cgroup_limits *limits, pid_t pid)
{
	if (!strays->cgroups)
		return true;
	int group = cgroups_begin(strays->cgroups, life->number, limits);
	bool is_inside = group >= 0 && fork_move_into(group, pid);
	int error = errno;
	descriptor_close(&group);
	errno = error;
	return is_inside;
}

void strays_adopt(struct strays *strays, pid_t pid)
{
	for (struct link *link = strays->seen.next; link != &strays->seen; link = link->next) {
		struct stray *stray = CONTAINER_OF(link, struct stray, link);
		if (stray->pid == pid) {
			reaper_forget(strays->reaper, pid);
			list_remove(link);
			free(stray);
			return;
		}
	}
}

bool strays_was_over_memory(const struct strays *strays, const struct stray_life *life)
{
	return strays->cgroups && cgroups_was_over_memory(strays->cgroups, life->number);
}

void strays_end(struct strays *strays, struct stray_life *life)
{
	if (!life->number)
		return;
	if (strays->cgroups)
		cgroups_end(strays->cgroups, life->number);
	life->number = 0;
	list_remove(&life->living);
	look_soon(strays);
}

bool strays_is_looking(const struct strays *strays)
{
	return ev_is_active(&strays->look);
}
