/* A worker that uses what it knows: its place, its attempt, and how long its task may take. The
 * body of a task is a command. knowing.py is the same worker in Python. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wpool/worker.h>

/* "tested 0 of 2, attempt 1 of 3" */
static void tell(struct wpool_task *task)
{
	char text[200];
	int len = snprintf(text, sizeof text, "%s %s of %s, attempt %u of %u", getenv("WPOOL_POOL"),
		getenv("WPOOL_SLOT"), getenv("WPOOL_WORKERS"), wpool_task_attempt(task),
		wpool_task_attempts(task));
	wpool_reply(task, text, (size_t)len);
}

static void handle(struct wpool_task *task, void *context)
{
	const char *body = wpool_task_body(task).data;
	char path[4096];
	long long limit_ms;
	(void)context;
	if (strcmp(body, "stay") == 0) {
		for (;;)
			pause();
	} else if (strcmp(body, "before") == 0) {
		const char *last_exit = getenv("WPOOL_LAST_EXIT");
		char text[200];
		int len = snprintf(text, sizeof text, "%d: %s; %s", (int)getpid(),
			getenv("WPOOL_TASK"), last_exit ? last_exit : "none");
		wpool_reply(task, text, (size_t)len);
		return;
	} else if (sscanf(body, "limit %lld", &limit_ms) == 1 &&
		   wpool_task_attempt(task) < wpool_task_attempts(task)) {
		wpool_set_hard_limit(task, limit_ms);
		for (;;)
			pause();
	} else if (sscanf(body, "wait %lld %4095[^\n]", &limit_ms, path) == 2) {
		wpool_set_hard_limit(task, limit_ms);
		while (access(path, F_OK) < 0)
			usleep(5000);
	}
	tell(task);
}

int main(void)
{
	return wpool_worker_run(handle, NULL);
}
