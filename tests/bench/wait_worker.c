/* A worker whose tasks wait, as for a database, in an event loop with timeouts.
 *   wait_worker [MS]
 * Each task is done MS milliseconds (10) after it arrived; any number of them wait at a time. */
#include <stdlib.h>
#include <time.h>
#include <wpool/loop.h>

#define NS 1000000000L

struct entry {
	struct wpool_task *task;
	struct timespec due;
};

/* All tasks wait equally long, so the first to come is the first to be due. */
struct waiting {
	struct timespec span;
	struct entry *ring;
	size_t size, first, count;
};

static struct timespec now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time;
}

static struct timespec sum(struct timespec a, struct timespec b)
{
	long ns = a.tv_nsec + b.tv_nsec;
	return (struct timespec){a.tv_sec + b.tv_sec + ns / NS, ns % NS};
}

/* The time from a to b; zero if b is not later. */
static struct timespec until(struct timespec a, struct timespec b)
{
	long ns = (b.tv_sec - a.tv_sec) * NS + b.tv_nsec - a.tv_nsec;
	return ns > 0 ? (struct timespec){ns / NS, ns % NS} : (struct timespec){0, 0};
}

static void on_event(
	struct wpool_worker *worker, enum wpool_event event, struct wpool_task *task, void *context)
{
	struct waiting *waiting = context;
	(void)worker;
	if (event != WPOOL_EVENT_TASK)
		return;
	size_t place = (waiting->first + waiting->count++) % waiting->size;
	waiting->ring[place] = (struct entry){task, sum(now(), waiting->span)};
}

static void answer_due(struct waiting *waiting)
{
	struct timespec time = now();
	while (waiting->count > 0) {
		struct entry *entry = &waiting->ring[waiting->first];
		struct timespec left = until(time, entry->due);
		if (left.tv_sec > 0 || left.tv_nsec > 0)
			return;
		wpool_done(entry->task);
		waiting->first = (waiting->first + 1) % waiting->size;
		waiting->count--;
	}
}

static void wait_for_events(struct wpool_worker *worker, const struct waiting *waiting)
{
	struct pollfd fds[WPOOL_FDS];
	struct timespec left;
	size_t count = wpool_worker_fds(worker, fds, WPOOL_FDS);
	if (waiting->count > 0)
		left = until(now(), waiting->ring[waiting->first].due);
	ppoll(fds, count, waiting->count > 0 ? &left : NULL, NULL);
}

static int work(struct wpool_worker *worker, struct waiting *waiting)
{
	int state;
	waiting->size = wpool_worker_concurrency(worker);
	waiting->ring = calloc(waiting->size, sizeof *waiting->ring);
	if (!waiting->ring)
		return -1;
	while ((state = wpool_worker_step(worker)) > 0) {
		wait_for_events(worker, waiting);
		answer_due(waiting);
	}
	free(waiting->ring);
	return state;
}

int main(int argc, char **argv)
{
	long ms = argc == 2 ? atol(argv[1]) : 10;
	struct waiting waiting = {.span = {ms / 1000, ms % 1000 * 1000000}};
	struct wpool_worker *worker = wpool_worker_open(on_event, &waiting);
	int state = worker ? work(worker, &waiting) : -1;
	wpool_worker_close(worker);
	return state == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
