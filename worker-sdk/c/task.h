/* One decoded task, and the parts of its answer. Part of the worker SDK, internal.
 * Everything points into the frame, which the task owns and which has a NUL behind each text, or
 * into the zone. */
#ifndef WPOOL_TASK_H
#define WPOOL_TASK_H

#include "frames.h"
#include "worker_internal.h"
#include <msgpack.h>

#define STATUS_ACCEPTED    (-2)
#define STATUS_PROGRESS    (-1)
#define STATUS_DONE        200
#define STATUS_REPLY       201
#define STATUS_REJECTED    400
#define STATUS_FAILED      500
#define STATUS_FAILED_LAST 599
#define STATUS_POSTPONED   503

/* What the supervisor asked for. */
#define REQUEST_CONTEXT_SWITCH 1u
#define REQUEST_CANCEL         2u

struct reply_header {
	struct reply_header *next;
	const char *name;
	const char *text; /* NULL: the integer */
	int64_t integer;
};

struct wpool_task {
	atomic_uint references;      /* the worker's until the answer, and those of users */
	struct wpool_worker *worker; /* has a reference */
	struct wpool_task *next_open, *next_waiting; /* chains of open_tasks.c and threads.c */
	uint64_t id;                                 /* 0: the supervisor gave none */
	uint8_t *block;                              /* owned: the memory of the frame */
	msgpack_zone zone;

	struct wpool_text body;
	bool body_is_text;
	struct wpool_text correlation_id;
	struct wpool_text queue;
	struct wpool_text session;
	msgpack_object_map headers;
	msgpack_object_map properties;
	int64_t limit_ms;    /* TimeoutMilliseconds, or WPOOL_NO_LIMIT */
	int64_t deadline_ms; /* CLOCK_MONOTONIC, or WPOOL_NO_LIMIT */

	atomic_uint requests; /* REQUEST_ flags */
	struct reply_header *reply_headers;
	bool lost_header; /* a header could not be kept: no reply may be sent without it */
	atomic_bool answered;
	void *data;
};

/* Return a task with one reference, or NULL and what is wrong with the frame, a static text. The
 * frame moves in. */
struct wpool_task *task_new(struct wpool_worker *, struct frame *, const char **ret_wrong);
/* The handler begins: its time runs from now. */
void task_begin(struct wpool_task *);
/* The handler has returned: without an answer the task has failed. If that cannot be sent, the
 * worker can write no more. */
void task_finish(struct wpool_task *);

/* value.c */
void value_terminate(const msgpack_object *);
struct wpool_text value_text(const msgpack_object *);
struct wpool_value value_of(const msgpack_object *);
/* The value of a key of a map; NULL: absent. */
const msgpack_object *value_find(msgpack_object_map, const char *name);
/* The number in an integer, a float, or a text of decimal digits. */
bool value_number(const msgpack_object *, int64_t *ret_number);

#endif
