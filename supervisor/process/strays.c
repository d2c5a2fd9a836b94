#include "process/strays.h"

#include "base/log.h"
#include "process/cgroups.h"
#include "process/mark.h"
#include "process/reaper.h"
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A marked orphan. The reaper reports its end, and then its children are ours. */
struct stray {
	struct link link;
	struct strays *strays;
	uint64_t life; /* in its mark */
	pid_t pid;
};

struct strays {
	struct ev_loop *loop;
	struct reaper *reaper;
	const char *run;
	struct cgroups *cgroups; /* or NULL */
	bool uses_marks;         /* some worker has no control group */
	uint64_t last;           /* number of a life */
	struct link living;      /* stray_life */
	struct link seen;        /* struct stray */
	ev_timer look;           /* active: a look is due */
};

static void look_soon(struct strays *strays)
{
	if (!ev_is_active(&strays->look))
		ev_timer_start(strays->loop, &strays->look);
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

/* Out of memory: the next look finds it again. */
static void add_stray(struct strays *strays, pid_t pid, uint64_t life)
{
	struct stray *stray = malloc(sizeof *stray);
	if (!stray || !reaper_watch(strays->reaper, pid, on_stray_exit, stray)) {
		free(stray);
		return;
	}
	*stray = (struct stray){.strays = strays, .life = life, .pid = pid};
	list_append(&strays->seen, &stray->link);
}

/* Children that the supervisor did not start. None vanishes while we read: only we reap them. */
static void find_marked(struct strays *strays)
{
	char path[64];
	int pid;
	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	FILE *children = fopen(path, "re");
	if (!children)
		return;
	while (fscanf(children, "%d", &pid) == 1) {
		uint64_t life = reaper_knows(strays->reaper, pid) ? 0 : mark_read(pid, strays->run);
		if (life)
			add_stray(strays, pid, life);
	}
	fclose(children);
}

static void on_look(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	struct strays *strays = timer->data;
	if (strays->cgroups)
		cgroups_sweep(strays->cgroups);
	if (strays->uses_marks)
		find_marked(strays);
	for (struct link *link = strays->seen.next; link != &strays->seen; link = link->next) {
		struct stray *stray = CONTAINER_OF(link, struct stray, link);
		if (is_living(strays, stray->life))
			continue;
		log_debug("killing process %d, which a worker left behind", (int)stray->pid);
		kill(stray->pid, SIGKILL); /* ours to reap, so the number is still its own */
	}
}

struct strays *strays_new(
	struct ev_loop *loop, struct reaper *reaper, const char *run, struct cgroups *cgroups)
{
	struct strays *strays = calloc(1, sizeof *strays);
	if (!strays)
		return NULL;
	strays->loop = loop;
	strays->reaper = reaper;
	strays->run = run;
	strays->cgroups = cgroups;
	strays->uses_marks = !cgroups;
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
	list_append(&strays->living, &life->living);
}

int strays_open_group(struct strays *strays, const struct stray_life *life)
{
	int group = strays->cgroups ? cgroups_begin(strays->cgroups, life->number) : -1;
	strays->uses_marks |= group < 0;
	return group;
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
