#include "open_tasks.h"

#include "task.h"
#include <stdlib.h>

bool open_tasks_init(struct open_tasks *open, size_t max)
{
	size_t size = 1;
	while (size < max)
		size *= 2;
	*open = (struct open_tasks){.mask = size - 1, .early_max = max};
	open->buckets = calloc(size, sizeof *open->buckets);
	return open->buckets;
}

void open_tasks_release(struct open_tasks *open)
{
	free(open->buckets);
	free(open->early);
	*open = (struct open_tasks){0};
}

/* Ids are counted up, so their low bits spread them evenly. */
static struct wpool_task **bucket(const struct open_tasks *open, uint64_t id)
{
	return &open->buckets[id & open->mask];
}

/* Remove what was for this task, and what can be for none any more. */
static unsigned take_early_requests(struct open_tasks *open, uint64_t id)
{
	unsigned requests = 0;
	size_t kept = 0;
	for (size_t i = 0; i < open->early_count; i++) {
		if (open->early[i].task_id == id)
			requests |= open->early[i].request;
		else if (open->early[i].task_id > id)
			open->early[kept++] = open->early[i];
	}
	open->early_count = kept;
	return requests;
}

unsigned open_tasks_add(struct open_tasks *open, struct wpool_task *task)
{
	struct wpool_task **first = bucket(open, task->id);
	task->next_open = *first;
	*first = task;
	open->count++;
	if (task->id <= open->last_id)
		return 0;
	open->last_id = task->id;
	return take_early_requests(open, task->id);
}

void open_tasks_remove(struct open_tasks *open, struct wpool_task *task)
{
	struct wpool_task **at = bucket(open, task->id);
	while (*at != task)
		at = &(*at)->next_open;
	*at = task->next_open;
	open->count--;
}

static struct wpool_task *first_open(const struct open_tasks *open)
{
	size_t i = 0;
	while (i < open->mask && !open->buckets[i])
		i++;
	return open->buckets[i];
}

struct wpool_task *open_tasks_find(const struct open_tasks *open, uint64_t id)
{
	if (id == 0)
		return open->count == 1 ? first_open(open) : NULL;
	struct wpool_task *task = *bucket(open, id);
	while (task && task->id != id)
		task = task->next_open;
	return task;
}

/* Without memory the request is lost: it is only advice. */
void open_tasks_request_early(struct open_tasks *open, uint64_t id, unsigned request)
{
	if (id <= open->last_id || open->early_count == open->early_max)
		return;
	if (!open->early)
		open->early = calloc(open->early_max, sizeof *open->early);
	if (open->early)
		open->early[open->early_count++] = (struct early_request){id, request};
}
