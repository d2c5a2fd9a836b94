/* libwpool-worker: a worker process for wpool, in C.
 * One call connects to the supervisor and passes each task to your handler, one at a time
 * (wpool_worker_run) or many at once (wpool_worker_run_threads), until the supervisor ends the
 * worker. For an event loop of your own see wpool/loop.h. The protocol is worker-sdk/PROTOCOL.md.
 * A task and everything returned from it are borrowed until the handler returns.
 * Threads: there is no global state. Under wpool_worker_run call all functions in its thread. Under
 * wpool_worker_run_threads any thread may call them, with the limits that are named below.
 * Standard output and standard error are yours: the supervisor logs their lines. Standard input
 * belongs to the supervisor: wpool_worker_run takes it and leaves /dev/null in its place. */
#ifndef WPOOL_WORKER_H
#define WPOOL_WORKER_H

#include "value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WPOOL_PUBLIC          __attribute__((visibility("default")))
#define WPOOL_NO_LIMIT        INT64_MAX
#define WPOOL_POSTPONE_MIN_MS 100
#define WPOOL_POSTPONE_MAX_MS (INT64_C(365) * 86400000)

struct wpool_task;

/* Do one task and, as the last step, answer it with one of the functions below. If the handler
 * returns without an answer, the task has failed (500). */
typedef void wpool_handler(struct wpool_task *task, void *context);

/* Handle tasks until the supervisor ends the worker or is gone. Return the exit status for main: 0
 * if the supervisor ended it; 1 after an error, which is printed on standard error. It is an error
 * if the pool's `concurrency` is above 1: the time of each task that is sent runs at once. */
WPOOL_PUBLIC int wpool_worker_run(wpool_handler *handler, void *context);
/* The same with a thread for each task, at most as many as the pool's `concurrency`, which are
 * started as needed: the handler runs in several threads at a time. They have stacks of 1 MiB. It
 * returns when the last handler has returned. After an error, too, it waits for the handlers:
 * wpool_should_stop asks them to end. */
WPOOL_PUBLIC int wpool_worker_run_threads(wpool_handler *handler, void *context);

/* The functions that read a task (wpool_task_...) may be called in several threads at a time.
 * The message. body_is_text: it is valid UTF-8. queue: the queue of its pool.
 * correlation_id: "" if there is none. */
WPOOL_PUBLIC struct wpool_text wpool_task_body(const struct wpool_task *);
WPOOL_PUBLIC bool wpool_task_body_is_text(const struct wpool_task *);
WPOOL_PUBLIC const char *wpool_task_correlation_id(const struct wpool_task *);
WPOOL_PUBLIC const char *wpool_task_queue(const struct wpool_task *);

/* The key of its session, for pools with `session`; empty: it has none. It may contain a NUL. Tasks
 * with the same key run one at a time and in order, in whichever worker. */
WPOOL_PUBLIC struct wpool_text wpool_task_session(const struct wpool_task *);

/* The id that the supervisor gave to this attempt, for log lines; 0: it gave none. */
WPOOL_PUBLIC uint64_t wpool_task_id(const struct wpool_task *);
/* Which attempt this is, from 1, and how many there are (`retry.attempts`): in the last, or a later
 * one, a failure is final. 0: not known (no `properties: true`, or an older supervisor). */
WPOOL_PUBLIC uint32_t wpool_task_attempt(const struct wpool_task *);
WPOOL_PUBLIC uint32_t wpool_task_attempts(const struct wpool_task *);

/* Return the text of the header of exactly this name. NULL: absent, or not text (pools with
 * `headers: typed`). */
WPOOL_PUBLIC const char *wpool_task_header(const struct wpool_task *, const char *name);
/* A header, or one of the message's properties (pools with `properties: true`), of any type. False:
 * absent; *ret_value is untouched. */
WPOOL_PUBLIC bool wpool_task_header_value(
	const struct wpool_task *, const char *name, struct wpool_value *ret_value);
WPOOL_PUBLIC bool wpool_task_property(
	const struct wpool_task *, const char *name, struct wpool_value *ret_value);
/* All headers: index from 0 to count - 1. */
WPOOL_PUBLIC size_t wpool_task_header_count(const struct wpool_task *);
WPOOL_PUBLIC bool wpool_task_header_at(const struct wpool_task *, size_t index,
	struct wpool_text *ret_name, struct wpool_value *ret_value);

/* Return how many milliseconds are left of the header TimeoutMilliseconds, counted from the start
 * of the handler, or with wpool/loop.h from its event; 0 if it is over, WPOOL_NO_LIMIT without such
 * a header. */
WPOOL_PUBLIC int64_t wpool_task_remaining_ms(const struct wpool_task *);
/* Return whether a long task should save its state and answer now: its time is over, or the
 * supervisor asked (__context_switch__, __cancel__) or is gone. In wpool_worker_run this costs one
 * system call: call it a thousand times a second, not a million times. */
WPOOL_PUBLIC bool wpool_should_stop(struct wpool_task *);
/* Return whether the supervisor asked to give up the task (__cancel__). It still needs an answer;
 * if the handler returns without one, the task has failed (500). Costs as much as
 * wpool_should_stop. Under wpool_worker_run_threads, both may be called in several threads at a
 * time. */
WPOOL_PUBLIC bool wpool_is_cancelled(struct wpool_task *);

/* Answer the task: once. It is written when the call returns; with wpool/loop.h it is buffered. The
 * body is copied or written, so it is yours again. Return 0, or -1 with errno: EALREADY (it has an
 * answer), EINVAL (a code out of its range), ENOMEM, EMSGSIZE, ENOTCONN (after
 * wpool_worker_close), or why the pipe could not be written, which ends the worker. Under
 * wpool_worker_run_threads, tasks may be answered in several threads at a time; but these and the
 * next functions must not be called for one task in two threads at a time.
 * done: finished. reply: finished, body goes to the message's reply_to; reply_to: to this queue.
 * reject (400 to 499): can never succeed. fail (500 to 599): retry, by the pool's policy;
 * fail_after: not before delay_ms. postpone: it comes back as it is, after delay_ms (100 to
 * WPOOL_POSTPONE_MAX_MS), and no attempt is counted, however often. hand_back: body is the rest of
 * the task, for the tail of its own queue, with the task's headers; if it has a session, the next
 * task of that. */
WPOOL_PUBLIC int wpool_done(struct wpool_task *);
WPOOL_PUBLIC int wpool_reply(struct wpool_task *, const void *body, size_t len);
WPOOL_PUBLIC int wpool_reply_to(
	struct wpool_task *, const char *queue, const void *body, size_t len);
WPOOL_PUBLIC int wpool_reject(struct wpool_task *, int code);
WPOOL_PUBLIC int wpool_fail(struct wpool_task *, int code);
WPOOL_PUBLIC int wpool_fail_after(struct wpool_task *, int code, int64_t delay_ms);
WPOOL_PUBLIC int wpool_postpone(struct wpool_task *, int64_t delay_ms);
WPOOL_PUBLIC int wpool_hand_back(struct wpool_task *, const void *body, size_t len);

/* Call before the answer. Add a header to the reply or the rest (copied; the last one of a name
 * counts), or send progress. If a header could not be kept, every later reply of this task returns
 * ENOMEM. */
WPOOL_PUBLIC int wpool_reply_header(struct wpool_task *, const char *name, const char *value);
WPOOL_PUBLIC int wpool_reply_header_integer(struct wpool_task *, const char *name, int64_t value);
WPOOL_PUBLIC int wpool_progress(struct wpool_task *, const void *note, size_t len);
/* Have the message acked before the task is done: it is never retried, whatever happens. Sent or
 * buffered as an answer is. Not in a pool with `session`. A second time changes nothing. Return 0,
 * or -1 with errno: EALREADY, the task has its answer; others as wpool_done. */
WPOOL_PUBLIC int wpool_accept(struct wpool_task *);
/* The same; set how many milliseconds, 1 to 365 days, this attempt may take from its begin until
 * the worker is ended, in place of the pool's `limits.hard`. An older supervisor ignores it. */
#define WPOOL_HARD_LIMIT_MAX INT64_C(31536000000)
WPOOL_PUBLIC int wpool_set_hard_limit(struct wpool_task *, int64_t limit_ms);

#ifdef __cplusplus
}
#endif

#endif
