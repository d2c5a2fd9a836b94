#include "process/reaper.h"

#include "base/list.h"
#include "base/log.h"
#include <stdlib.h>
#include <sys/wait.h>

#define REAPER_BUCKETS 512 /* a power of two; 1,000 children make chains of two */

struct watch {
	struct link link;
	pid_t pid;
	reaper_on_exit *on_exit;
	void *ctx;
};

struct reaper {
	struct ev_loop *loop;
	ev_child child;
	void (*on_stranger)(void *ctx); /* or NULL */
	void *stranger_ctx;
	struct link buckets[REAPER_BUCKETS];
};

static unsigned bucket_of(pid_t pid)
{
	return (unsigned)pid % REAPER_BUCKETS;
}

static struct watch *find(const struct reaper *reaper, pid_t pid)
{
	const struct link *bucket = &reaper->buckets[bucket_of(pid)];
	for (struct link *link = bucket->next; link != bucket; link = link->next) {
		struct watch *watch = CONTAINER_OF(link, struct watch, link);
		if (watch->pid == pid)
			return watch;
	}
	return NULL;
}

static void watch_free(struct watch *watch)
{
	list_remove(&watch->link);
	free(watch);
}

static struct exit_info exit_of(int status)
{
	if (WIFSIGNALED(status))
		return (struct exit_info){EXIT_SIGNAL, WTERMSIG(status), NULL};
	return (struct exit_info){EXIT_STATUS, WEXITSTATUS(status), NULL};
}

static void on_child(struct ev_loop *loop, ev_child *child, int events)
{
	(void)loop;
	(void)events;
	struct reaper *reaper = child->data;
	pid_t pid = child->rpid;
	struct watch *watch = find(reaper, pid);
	if (!watch) {
		log_debug("reaped process %d, which wpool did not start", (int)pid);
		if (reaper->on_stranger)
			reaper->on_stranger(reaper->stranger_ctx);
		return;
	}
	struct watch ended = *watch;
	watch_free(watch); /* first: on_exit may start another process */
	ended.on_exit(ended.ctx, pid, exit_of(child->rstatus));
}

struct reaper *reaper_new(struct ev_loop *loop)
{
	struct reaper *reaper = calloc(1, sizeof *reaper);
	if (!reaper)
		return NULL;
	reaper->loop = loop;
	for (size_t i = 0; i < REAPER_BUCKETS; i++)
		list_init(&reaper->buckets[i]);
	ev_child_init(&reaper->child, on_child, 0, 0);
	reaper->child.data = reaper;
	ev_child_start(loop, &reaper->child);
	return reaper;
}

void reaper_free(struct reaper *reaper)
{
	if (!reaper)
		return;
	ev_child_stop(reaper->loop, &reaper->child);
	for (size_t i = 0; i < REAPER_BUCKETS; i++) {
		struct link *link;
		while ((link = list_first(&reaper->buckets[i])))
			watch_free(CONTAINER_OF(link, struct watch, link));
	}
	free(reaper);
}

bool reaper_watch(struct reaper *reaper, pid_t pid, reaper_on_exit *on_exit, void *ctx)
{
	struct watch *watch = malloc(sizeof *watch);
	if (!watch)
		return false;
	*watch = (struct watch){.pid = pid, .on_exit = on_exit, .ctx = ctx};
	list_append(&reaper->buckets[bucket_of(pid)], &watch->link);
	return true;
}

bool reaper_knows(const struct reaper *reaper, pid_t pid)
{
	return find(reaper, pid) != NULL;
}

void reaper_set_stranger_handler(struct reaper *reaper, void (*on_stranger)(void *ctx), void *ctx)
{
	reaper->on_stranger = on_stranger;
	reaper->stranger_ctx = ctx;
}

void reaper_forget(struct reaper *reaper, pid_t pid)
{
	struct watch *watch = find(reaper, pid);
	if (watch)
		watch_free(watch);
}
