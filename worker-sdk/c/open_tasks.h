/* The tasks of a worker that are open, found by their ids, and the requests for tasks that have not
 * come out of the pipe yet. Part of the worker SDK, internal. Borrows the tasks. */
#ifndef WPOOL_OPEN_TASKS_H
#define WPOOL_OPEN_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wpool_task;

struct early_request {
	uint64_t task_id;
	unsigned request;
};

struct open_tasks {
	struct wpool_task **buckets; /* chains through wpool_task.next_open */
	size_t mask;
	size_t count;
	uint64_t last_id; /* the supervisor counts up: a higher one is still in the pipe */
	struct early_request *early;
	size_t early_count, early_max;
};

/* max: how many tasks may be open. False: out of memory. */
bool open_tasks_init(struct open_tasks *, size_t max);
void open_tasks_release(struct open_tasks *);
/* Add a task. Return the requests that came before it, combined. */
unsigned open_tasks_add(struct open_tasks *, struct wpool_task *);
void open_tasks_remove(struct open_tasks *, struct wpool_task *);
/* Return the open task of that id; id 0: the only open task. NULL: there is none. */
struct wpool_task *open_tasks_find(const struct open_tasks *, uint64_t id);
/* Keep a request for a task that is not open, if it may still come. */
void open_tasks_request_early(struct open_tasks *, uint64_t id, unsigned request);

#endif
