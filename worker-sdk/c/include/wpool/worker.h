/* libwpool-worker: a worker process for wpool, in C.
 * One call connects to the supervisor, then gives each task to your handler, one at a time, in
 * order, until the supervisor says enough. The protocol behind it is worker-sdk/PROTOCOL.md.
 * A task and all that is got from it are borrowed until the handler returns. Nothing here is
 * global; everything happens in the thread that called wpool_worker_run and must be called there.
 * Standard output and standard error are yours: the supervisor logs their lines. Standard input
 * is the supervisor's: wpool_worker_run takes it and leaves /dev/null in its place. */
#ifndef WPOOL_WORKER_H
#define WPOOL_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WPOOL_PUBLIC   __attribute__((visibility("default")))
#define WPOOL_NO_LIMIT INT64_MAX

struct wpool_task;
struct msgpack_object;

/* Does one task and answers it with one of the functions below, as the last thing it does. If it
 * returns without an answer, the task has failed (500): silence is never taken for success. */
typedef void wpool_handler(struct wpool_task *task, void *context);

/* Works tasks until the supervisor ends it or is gone. Returns what main should: 0 when it was told
 * to leave, 1 after one line on standard error that says what went wrong. */
WPOOL_PUBLIC int wpool_worker_run(wpool_handler *handler, void *context);

/* Bytes that a NUL follows, which len does not count. They may hold NULs of their own. */
struct wpool_text {
	const char *data;
	size_t len;
};

enum wpool_kind {
	WPOOL_NIL,
	WPOOL_BOOL,    /* .boolean */
	WPOOL_INTEGER, /* .integer */
	WPOOL_REAL,    /* .real */
	WPOOL_TEXT,    /* .text, UTF-8 */
	WPOOL_BYTES,   /* .text */
	WPOOL_TIME,    /* .integer, seconds since 1970 */
	WPOOL_OTHER,   /* a table, an array, an integer over int64: read .object with msgpack-c */
};

struct wpool_value {
	enum wpool_kind kind;
	union {
		bool boolean;
		int64_t integer;
		double real;
		struct wpool_text text;
	};
	const struct msgpack_object *object;
};

/* The message. body_is_text: it came as valid UTF-8. queue: the one it was first consumed from.
 * correlation_id: "" when there is none. */
WPOOL_PUBLIC struct wpool_text wpool_task_body(const struct wpool_task *);
WPOOL_PUBLIC bool wpool_task_body_is_text(const struct wpool_task *);
WPOOL_PUBLIC const char *wpool_task_correlation_id(const struct wpool_task *);
WPOOL_PUBLIC const char *wpool_task_queue(const struct wpool_task *);

/* A header's text by its exact name. NULL: absent, or not text (pools with `headers: typed`). */
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

/* Milliseconds left of the header TimeoutMilliseconds, counted from the handler's start; 0 when it
 * is over, WPOOL_NO_LIMIT without one. */
WPOOL_PUBLIC int64_t wpool_task_remaining_ms(const struct wpool_task *);
/* Whether a long task should save its state and answer now: its time is over, the supervisor asked
 * (__context_switch__) or is gone. One system call: ask a thousand times a second, not a million.
 */
WPOOL_PUBLIC bool wpool_should_stop(struct wpool_task *);

/* Answers: one a task, written at once. 0, or -1 with errno: EALREADY (it has its answer), EINVAL
 * (a code out of its range), ENOMEM, EMSGSIZE, or why the pipe could not be written; after the last
 * the loop ends.
 * done: finished. reply: finished, body goes to the message's reply_to; reply_to: to this queue.
 * reject (400 to 499): can never succeed. fail (500 to 599): try again, by the pool's policy;
 * fail_after: not before delay_ms. hand_back: body is the rest of the task, for the tail of its own
 * queue, with the task's headers. */
WPOOL_PUBLIC int wpool_done(struct wpool_task *);
WPOOL_PUBLIC int wpool_reply(struct wpool_task *, const void *body, size_t len);
WPOOL_PUBLIC int wpool_reply_to(
	struct wpool_task *, const char *queue, const void *body, size_t len);
WPOOL_PUBLIC int wpool_reject(struct wpool_task *, int code);
WPOOL_PUBLIC int wpool_fail(struct wpool_task *, int code);
WPOOL_PUBLIC int wpool_fail_after(struct wpool_task *, int code, int64_t delay_ms);
WPOOL_PUBLIC int wpool_hand_back(struct wpool_task *, const void *body, size_t len);

/* Before the answer: a header for the reply or the rest (copied; the last of a name stands), and a
 * note of progress. A header that could not be kept makes every later reply of this task ENOMEM. */
WPOOL_PUBLIC int wpool_reply_header(struct wpool_task *, const char *name, const char *value);
WPOOL_PUBLIC int wpool_reply_header_integer(struct wpool_task *, const char *name, int64_t value);
WPOOL_PUBLIC int wpool_progress(struct wpool_task *, const void *note, size_t len);

#ifdef __cplusplus
}
#endif

#endif
