/* The events of a fake worker's process and pipe, sent to its pool. */
#ifndef SIM_WORKER_REPORT_H
#define SIM_WORKER_REPORT_H

#include "sim/cover.h"
#include "sim/world.h"

/* False: its pool ends the worker, and listens to it no more. */
bool worker_report_is_heard(const struct pool_runtime *, uint16_t slot);
void worker_report_ready(struct pool_runtime *, uint16_t slot);
void worker_report_room(struct pool_runtime *, uint16_t slot, bool room);
/* About the current task; any status but STATUS_PROGRESS ends its attempt. */
void worker_report_output(struct pool_runtime *, uint16_t slot, int32_t status,
	const char *reply_queue, enum reason invalid);
/* Progress, which may set the hard limit of the current task. */
void worker_report_progress(struct pool_runtime *, uint16_t slot);
/* An output with an unknown status; the worker sends nothing after it. */
void worker_report_unknown(struct pool_runtime *, uint16_t slot, int32_t status);
/* An output with an id that is wrong or missing, so that it belongs to no task; the worker sends
 * nothing after it. */
void worker_report_stray(struct pool_runtime *, uint16_t slot, int32_t status, enum cover_id);
void worker_report_memory(struct pool_runtime *, uint16_t slot);
/* A frame that makes no sense, though its id can be read. */
void worker_report_broken(struct pool_runtime *, uint16_t slot, enum cover_id);
void worker_report_gone(struct pool_runtime *, uint16_t slot, enum exit_kind, int32_t number);

#endif
