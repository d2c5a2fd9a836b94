/* Replies to each message with its text in capitals. */
#include <ctype.h>
#include <stdlib.h>
#include <wpool/worker.h>

static void handle(struct wpool_task *task, void *context)
{
	(void)context;
	struct wpool_text body = wpool_task_body(task);
	char *upper = malloc(body.len + 1);

	if (!upper)
		return; /* no answer: the task has failed, and is retried */
	for (size_t i = 0; i < body.len; i++)
		upper[i] = (char)toupper((unsigned char)body.data[i]);
	wpool_reply(task, upper, body.len);
	free(upper);
}

int main(void)
{
	return wpool_worker_run(handle, NULL);
}
