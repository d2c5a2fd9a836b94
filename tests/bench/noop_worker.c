/* A worker that does no work: each task is done at once, or with the argument "reply" answered with
 * its own body. */
#include <string.h>
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

int main(int argc, char **argv)
{
	bool replies = argc > 1 && strcmp(argv[1], "reply") == 0;
	return wpool_worker_run(replies ? echo : finish, NULL);
}
