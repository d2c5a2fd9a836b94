/* The tasks that one worker got, and what it answered: each output is judged by the task that it
 * belongs to. Layer: check_worker; without I/O. Implements worker-sdk/PROTOCOL.md, section 7. */
#ifndef CHECK_WORKER_EXCHANGE_H
#define CHECK_WORKER_EXCHANGE_H

#include "check_worker/fault.h"
#include "check_worker/tasks.h"
#include "core/tasks/output.h"

#define EXCHANGE_TASKS 256 /* that one worker gets at most */

struct sent_task {
	uint64_t id; /* 0: it was sent without one */
	enum task_kind kind;
	bool is_answered;
	int32_t status;           /* of its answer */
	uint64_t digest;          /* of what its answer says */
	struct fault_bytes frame; /* of its answer */
};

struct exchange {
	uint16_t concurrency;
	uint64_t first_id; /* of this worker; earlier workers of the run had lower ones */
	struct sent_task tasks[EXCHANGE_TASKS];
	size_t count, answered;
	size_t oldest;     /* the index of the oldest open task; count: none is open */
	uint64_t named;    /* outputs that named their task */
	uint64_t progress; /* outputs with status -1 */
	uint64_t accepted; /* outputs with status -2 */
	bool has_last;     /* status 205: the supervisor ends the worker */
	uint64_t surplus;  /* answers without an id when no task was open */
	struct fault_bytes surplus_frame; /* the first of them */
};

void exchange_init(struct exchange *, uint16_t concurrency, uint64_t first_id);
/* A task was sent, or is about to be. At most EXCHANGE_TASKS in all, and above concurrency 1 at
 * most that many open. */
void exchange_add(struct exchange *, uint64_t id, enum task_kind);
size_t exchange_open(const struct exchange *);
/* Take an output; whole: its frame with the length. False: *ret_fault is set. An answer without an
 * id at concurrency 1 when no task is open is only counted: a worker may send it at any time, so
 * that a check must not depend on when. */
bool exchange_take(
	struct exchange *, const struct output *, struct text whole, struct fault *ret_fault);

#endif
