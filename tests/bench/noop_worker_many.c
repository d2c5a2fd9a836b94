/* A worker that does no work, in an event loop: as many tasks at once as the pool gives it.
 *   noop_worker_many [reply]
 * Each task is done at once. With "reply" its body is the reply. */
#include <stdlib.h>
#include <string.h>
#include <wpool/loop.h>

static void on_event(
	struct wpool_worker *worker, enum wpool_event event, struct wpool_task *task, void *context)
{
	const bool *replies = context;
	(void)worker;
	if (event != WPOOL_EVENT_TASK)
		return;
	struct wpool_text body = wpool_task_body(task);
	if (*replies)
		wpool_reply(task, body.data, body.len);
	else
		wpool_done(task);
}

int main(int argc, char **argv)
{
	bool replies = argc == 2 && strcmp(argv[1], "reply") == 0;
	struct wpool_worker *worker = wpool_worker_open(on_event, &replies);
	struct pollfd fds[WPOOL_FDS];
	int state = -1;
	while (worker && (state = wpool_worker_step(worker)) > 0) {
		size_t count = wpool_worker_fds(worker, fds, WPOOL_FDS);
		poll(fds, count, -1);
	}
	wpool_worker_close(worker);
	return state == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
