/* One decoded task, and the parts of its answer. Part of the worker SDK, internal.
 * Everything points into the frame, which has a NUL behind each text, or into the zone. Both are
 * valid until the next task. */
#ifndef WPOOL_TASK_H
#define WPOOL_TASK_H

#include "control.h"
#include "pipe.h"
#include "wpool/worker.h"
#include <msgpack.h>

#define STATUS_PROGRESS    (-1)
#define STATUS_DONE        200
#define STATUS_REPLY       201
#define STATUS_REJECTED    400
#define STATUS_FAILED      500
#define STATUS_FAILED_LAST 599

struct reply_header {
	struct reply_header *next;
	const char *name;
	const char *text; /* NULL: the integer */
	int64_t integer;
};

struct wpool_task {
	struct control *control; /* borrowed from the worker, like the pipe */
	struct data_pipe *pipe;
	msgpack_zone zone;
	msgpack_sbuffer answer; /* the frame being written; its memory is reused */

	struct wpool_text body;
	bool body_is_text;
	struct wpool_text correlation_id;
	struct wpool_text queue;
	msgpack_object_map headers;
	msgpack_object_map properties;
	int64_t deadline_ms; /* CLOCK_MONOTONIC, or WPOOL_NO_LIMIT */

	struct reply_header *reply_headers;
	bool lost_header; /* a header could not be kept: no reply may be sent without it */
	bool answered;
	int write_error; /* errno of the pipe; 0 while it works */
};

/* False: out of memory. */
bool task_init(struct wpool_task *, struct control *, struct data_pipe *);
void task_release(struct wpool_task *);
/* Begin the next task from a frame without its length; the byte behind the frame may be
 * overwritten. Return NULL, or what is wrong with it, a static text. */
const char *task_read(struct wpool_task *, uint8_t *frame, size_t len);

/* value.c */
void value_terminate(const msgpack_object *);
struct wpool_text value_text(const msgpack_object *);
struct wpool_value value_of(const msgpack_object *);
/* The value of a key of a map; NULL: absent. */
const msgpack_object *value_find(msgpack_object_map, const char *name);
/* The number in an integer, a float, or a text of decimal digits. */
bool value_number(const msgpack_object *, int64_t *ret_number);

#endif
