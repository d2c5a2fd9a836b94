/* A worker that does no work.
 *   noop_worker [reply | hold MS]
 * Each task is done at once. With "reply" its body is the reply; with "hold" the worker sleeps for
 * MS milliseconds first. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wpool/worker.h>

static void finish(struct wpool_task *task, void *context)
{
	(void)context;
	wpool_done(task);
}

static void echo(struct wpool_task *task, void *context)
{
	struct wpool_text body = wpool_task_body(task);
	(void)context;
	wpool_reply(task, body.data, body.len);
}

static void hold(struct wpool_task *task, void *context)
{
	const struct timespec *span = context;
	nanosleep(span, NULL);
	wpool_done(task);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "hold") == 0) {
		long ms = atol(argv[2]);
		struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
		return wpool_worker_run(hold, &span);
	}
	if (argc == 2 && strcmp(argv[1], "reply") == 0)
		return wpool_worker_run(echo, NULL);
	return wpool_worker_run(finish, NULL);
}
