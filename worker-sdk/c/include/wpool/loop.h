/* libwpool-worker: many tasks at once, in an event loop of your own.
 * Open the worker, wait for its descriptors together with yours, and call wpool_worker_step after
 * each wait: it reads, calls you back for each event, and writes. Nothing here waits, except
 * wpool_worker_open. There are no threads and no global state.
 * A task is answered and asked about with the functions of wpool/worker.h, at any time: in the
 * callback, or later from a timer or another descriptor. Answers and progress are buffered, and
 * written by wpool_worker_step.
 * Threads: call all functions of one worker and of its tasks in one thread at a time. */
#ifndef WPOOL_LOOP_H
#define WPOOL_LOOP_H

#include "wpool/worker.h"
#include <poll.h>

#ifdef __cplusplus
extern "C" {
#endif

struct wpool_worker;

/* Later versions may have more: ignore those that you do not know. */
enum wpool_event {
	/* A task has arrived. It is open until you answer it; at most wpool_worker_concurrency are
	 * open. If you never answer it, the supervisor kills the worker at the task's hard limit.
	 */
	WPOOL_EVENT_TASK,
	/* The supervisor asks to save the state of this task and to answer it soon. */
	WPOOL_EVENT_CONTEXT_SWITCH,
	/* The supervisor asks to give up this task. It still needs an answer: usually
	 * wpool_fail(task, 500). */
	WPOOL_EVENT_CANCEL,
	/* No task comes any more (task is NULL). Answer those that are open and continue to call
	 * wpool_worker_step until it returns 0. */
	WPOOL_EVENT_SHUTDOWN,
};

/* Called from wpool_worker_step only. It may answer any open task; it must not call
 * wpool_worker_step or wpool_worker_close. The task is borrowed until its answer, and in any case
 * until the callback returns. */
typedef void wpool_on_event(
	struct wpool_worker *, enum wpool_event, struct wpool_task *task, void *context);

/* Read the address from standard input, which the worker takes as wpool_worker_run does, and
 * connect. Waits until the supervisor has written the address. NULL after an error, which is
 * printed on standard error. The worker is yours: close it. context: passed to the callback. */
WPOOL_PUBLIC struct wpool_worker *wpool_worker_open(wpool_on_event *, void *context);
/* Close the connection and free the worker and its open tasks, whose answers are lost. NULL is
 * allowed. */
WPOOL_PUBLIC void wpool_worker_close(struct wpool_worker *);

/* How many places for descriptors this version needs. */
#define WPOOL_FDS 3

/* Write what to wait for, in the form of poll(2): events is POLLIN, POLLOUT, both, or 0 with the fd
 * -1, for which poll does not wait. Ask again before each wait, or, with epoll or libev, after each
 * wpool_worker_step and after answers from elsewhere: each place keeps its fd, or has -1. No fd is
 * in two places. capacity: how many places ret_fds has, WPOOL_FDS or more. Return how many were
 * written, the same number each time: wait for so many. 0: the capacity is below WPOOL_FDS, and
 * nothing was written. */
WPOOL_PUBLIC size_t wpool_worker_fds(
	struct wpool_worker *, struct pollfd *ret_fds, size_t capacity);

/* Process what is ready: write what is unsent, read what has come, call back. Never waits. It is
 * correct, and costs one system call, to call it when nothing is ready. Answers that you give just
 * before it are written by it without another wait. Return 1: wait and call again; 0: the worker
 * has ended in order, exit with 0; -1: after an error, which is printed on standard error, exit
 * with 1. */
WPOOL_PUBLIC int wpool_worker_step(struct wpool_worker *);

/* How many tasks the pool gives to this worker at a time: its setting concurrency, 1 to 10000. */
WPOOL_PUBLIC unsigned wpool_worker_concurrency(const struct wpool_worker *);
/* How many bytes of answers and progress are unsent. The buffer has no limit: a worker that sends
 * much progress should pause while this is large. */
WPOOL_PUBLIC size_t wpool_worker_unsent(struct wpool_worker *);

/* A pointer of your own in the task, such as what works on it; NULL at first. */
WPOOL_PUBLIC void wpool_task_set_data(struct wpool_task *, void *data);
WPOOL_PUBLIC void *wpool_task_data(const struct wpool_task *);
/* Keep the task beyond its answer, to read it: each wpool_task_ref needs a wpool_task_unref, also
 * after wpool_worker_close. Return the task. */
WPOOL_PUBLIC struct wpool_task *wpool_task_ref(struct wpool_task *);
WPOOL_PUBLIC void wpool_task_unref(struct wpool_task *);

#ifdef __cplusplus
}
#endif

#endif
