/* The tasks that a worker under check gets. Layer: check_worker; without I/O. The frames are those
 * that a pool would write (message/task.h). */
#ifndef CHECK_WORKER_TASKS_H
#define CHECK_WORKER_TASKS_H

#include "message/task.h"

#define TASK_BODY_MAX  ((size_t)16 << 20) /* the default of max_body */
#define TASK_FRAME_MAX (TASK_BODY_MAX + (1 << 20))

enum task_kind {
	TASK_NONE,   /* ends a list */
	TASK_PLAIN,  /* the first body of --task, else a short text */
	TASK_SECOND, /* the second one, else another text */
	TASK_EMPTY,
	TASK_TEXT,   /* UTF-8 of every width */
	TASK_BINARY, /* not UTF-8 */
	TASK_STR_8,  /* text whose size takes one byte in MessagePack */
	TASK_STR_16,
	TASK_BIN_16,
	TASK_MIB,   /* 1 MiB of text */
	TASK_LARGE, /* TASK_BODY_MAX bytes of text */
	TASK_UNKNOWN_KEYS,
	TASK_SESSION,       /* with the key of a session */
	TASK_HEADERS,       /* of every AMQP type */
	TASK_TYPED_HEADERS, /* the same under headers: typed, with properties */
	/* bodies that many workers cannot work on */
	TASK_NO_JSON,
	TASK_NULL,
	TASK_NUMBER,
	TASK_NESTED,
	TASK_FILES, /* the first body of --task; its other ones follow */
};

/* Append a task's frame. id: from 1; not written if the options have no ids. files: the bodies of
 * --task; may be none. RC_MEMORY; RC_LIMIT: a body is larger than frame_limit. */
enum rc tasks_append(struct buf *out, enum task_kind, uint64_t id, const struct task_options *,
	const struct text *files, size_t file_count) MUST_CHECK;

#endif
