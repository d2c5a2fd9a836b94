/* One task at a time, in the thread that calls wpool_worker_run. */
#include "task.h"

#include <stdlib.h>

struct runner {
	wpool_handler *handler;
	void *context;
};

static void on_event(
	struct wpool_worker *worker, enum wpool_event event, struct wpool_task *task, void *context)
{
	const struct runner *runner = context;
	(void)worker;
	if (event != WPOOL_EVENT_TASK)
		return; /* the handler asks with wpool_should_stop */
	runner->handler(task, runner->context);
	task_finish(task);
}

/* Tasks that waited here for the one before would be taken for hung ones: their time runs. */
static bool is_for_one_task(void)
{
	unsigned concurrency = worker_concurrency();
	if (concurrency <= 1)
		return concurrency == 1;
	worker_report(
		"the pool's concurrency is above 1, but wpool_worker_run does one task at a time",
		"use wpool_worker_run_threads or wpool/loop.h");
	return false;
}

int wpool_worker_run(wpool_handler *handler, void *context)
{
	static const struct worker_mode mode = {.writes_at_once = true, .runs_in_turn = true};
	struct runner runner = {handler, context};
	if (!is_for_one_task())
		return EXIT_FAILURE;
	struct wpool_worker *worker = worker_open(&mode, on_event, &runner);
	if (!worker)
		return EXIT_FAILURE;
	int state;
	do
		state = worker_turn(worker, -1);
	while (state > 0);
	wpool_worker_close(worker);
	return state == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
