/* The events of a fake worker's process and pipe, sent to its pool. */
#ifndef SIM_WORKER_REPORT_H
#define SIM_WORKER_REPORT_H

#include "sim/world.h"

void worker_report_ready(struct pool_runtime *, uint16_t slot);
void worker_report_room(struct pool_runtime *, uint16_t slot, bool room);
/* About the oldest task; any status but STATUS_PROGRESS ends its attempt. */
void worker_report_output(struct pool_runtime *, uint16_t slot, int32_t status,
	const char *reply_queue, enum reason invalid);
/* An output with an unknown status; the worker sends nothing after it. */
void worker_report_unknown(struct pool_runtime *, uint16_t slot, int32_t status);
/* An answer without a task; the worker sends nothing after it. */
void worker_report_stray(struct pool_runtime *, uint16_t slot, int32_t status);
void worker_report_memory(struct pool_runtime *, uint16_t slot);
void worker_report_broken(struct pool_runtime *, uint16_t slot);
void worker_report_gone(struct pool_runtime *, uint16_t slot, enum exit_kind, int32_t number);

#endif
