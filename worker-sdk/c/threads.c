/* Many tasks at once, each in a thread. The main thread reads tasks and control lines; a handler
 * writes its answer itself. A thread is started when a task finds no idle one, and stays. */
#include "task.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STACK_SIZE (1u << 20)

struct threads {
	wpool_handler *handler;
	void *context;
	struct wpool_worker *worker;
	int wake;      /* an eventfd: a handler has ended, and the main thread may have to end */
	bool is_short; /* a thread could not be started, which has been printed */

	pthread_mutex_t lock; /* of the members below */
	pthread_cond_t has_task;
	struct wpool_task *first, *last; /* the tasks without a thread; each has a reference */
	size_t waiting, idle;
	bool is_stopping;
	pthread_t *started;
	size_t count;
};

/* Wait for a task; NULL: stop. */
static struct wpool_task *next_task(struct threads *threads)
{
	struct wpool_task *task = NULL;
	pthread_mutex_lock(&threads->lock);
	threads->idle++;
	while (!threads->first && !threads->is_stopping)
		pthread_cond_wait(&threads->has_task, &threads->lock);
	threads->idle--;
	if (!threads->is_stopping) {
		task = threads->first;
		threads->first = task->next_waiting;
		threads->waiting--;
	}
	pthread_mutex_unlock(&threads->lock);
	return task;
}

static void *run_thread(void *context)
{
	struct threads *threads = context;
	struct wpool_worker *worker = threads->worker;
	struct wpool_task *task;
	while ((task = next_task(threads))) {
		task_begin(task);
		threads->handler(task, threads->context);
		task_finish(task);
		wpool_task_unref(task);
		if (atomic_load(&worker->is_over) || atomic_load(&worker->write_error))
			eventfd_write(threads->wake, 1);
	}
	return NULL;
}

/* Return 0, or why there is not another thread. */
static int start_thread(struct threads *threads)
{
	pthread_attr_t attributes;
	int error = pthread_attr_init(&attributes);
	if (error)
		return error;
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	error = pthread_create(&threads->started[threads->count], &attributes, run_thread, threads);
	pthread_attr_destroy(&attributes);
	threads->count += !error;
	return error;
}

/* With fewer threads than tasks the others wait. Without any, the worker is of no use. */
static void handle_shortage(struct threads *threads, int error)
{
	if (threads->count == 0)
		worker_break(threads->worker, "cannot start a thread", strerror(error));
	else if (!threads->is_short)
		fprintf(stderr, "wpool worker: cannot start a thread beside %zu: %s, tasks wait\n",
			threads->count, strerror(error));
	threads->is_short = true;
}

static void add_task(struct threads *threads, struct wpool_task *task)
{
	pthread_mutex_lock(&threads->lock);
	task->next_waiting = NULL;
	if (threads->first)
		threads->last->next_waiting = task;
	else
		threads->first = task;
	threads->last = task;
	threads->waiting++;
	bool is_too_few = threads->waiting > threads->idle;
	pthread_cond_signal(&threads->has_task);
	pthread_mutex_unlock(&threads->lock);
	if (!is_too_few || threads->count == wpool_worker_concurrency(threads->worker))
		return;
	int error = start_thread(threads);
	if (error)
		handle_shortage(threads, error);
}

static void on_event(
	struct wpool_worker *worker, enum wpool_event event, struct wpool_task *task, void *context)
{
	(void)worker;
	if (event == WPOOL_EVENT_TASK) /* of the others the handler learns by asking */
		add_task(context, wpool_task_ref(task));
}

static int wait_for_events(struct threads *threads)
{
	struct pollfd fds[WPOOL_FDS + 1];
	eventfd_t ignored;
	size_t count = wpool_worker_fds(threads->worker, fds, WPOOL_FDS);
	fds[count] = (struct pollfd){.fd = threads->wake, .events = POLLIN};
	int ready = poll(fds, count + 1, -1);
	if (ready > 0 && fds[count].revents)
		eventfd_read(threads->wake, &ignored);
	return ready < 0 && errno != EINTR ? -1 : 0;
}

/* Wait for the handlers that are at work; the tasks that wait are not begun. */
static void stop_threads(struct threads *threads)
{
	atomic_store(&threads->worker->is_gone, true);
	pthread_mutex_lock(&threads->lock);
	threads->is_stopping = true;
	pthread_cond_broadcast(&threads->has_task);
	pthread_mutex_unlock(&threads->lock);
	for (size_t i = 0; i < threads->count; i++)
		pthread_join(threads->started[i], NULL);
	while (threads->first) {
		struct wpool_task *task = threads->first;
		threads->first = task->next_waiting;
		wpool_task_unref(task);
	}
}

static int work(struct threads *threads)
{
	int state;
	while ((state = wpool_worker_step(threads->worker)) > 0) {
		if (wait_for_events(threads) < 0) {
			worker_break(threads->worker, "cannot wait", strerror(errno));
			state = -1;
			break;
		}
	}
	stop_threads(threads);
	return state;
}

static int connect_and_work(struct threads *threads)
{
	static const struct worker_mode mode = {.writes_at_once = true, .open_max = SIZE_MAX};
	threads->worker = worker_open(&mode, on_event, threads);
	if (!threads->worker)
		return -1;
	int state = work(threads);
	wpool_worker_close(threads->worker);
	return state;
}

int wpool_worker_run_threads(wpool_handler *handler, void *context)
{
	unsigned concurrency = worker_concurrency();
	if (concurrency == 0)
		return EXIT_FAILURE;
	struct threads threads = {.handler = handler,
		.context = context,
		.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.has_task = PTHREAD_COND_INITIALIZER,
		.started = calloc(concurrency, sizeof *threads.started)};
	int state = -1;
	if (threads.wake < 0 || !threads.started)
		worker_report("cannot start", strerror(errno));
	else
		state = connect_and_work(&threads);
	if (threads.wake >= 0)
		close(threads.wake);
	free(threads.started);
	return state == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
