/* What a fake worker's process and pipe tell the pool. */
#ifndef SIM_WORKER_TELL_H
#define SIM_WORKER_TELL_H

#include "sim/world.h"

void worker_tell_ready(struct station *, uint16_t slot);
void worker_tell_room(struct station *, uint16_t slot, bool room);
/* About the oldest task; any status but STATUS_PROGRESS ends its attempt. */
void worker_tell_output(struct station *, uint16_t slot, int32_t status, const char *reply_queue,
	enum reason invalid);
/* A status that no protocol knows; it says nothing more after that. */
void worker_tell_unknown(struct station *, uint16_t slot, int32_t status);
/* About no task at all; it says nothing more after that. */
void worker_tell_stray(struct station *, uint16_t slot, int32_t status);
void worker_tell_memory(struct station *, uint16_t slot);
void worker_tell_broken(struct station *, uint16_t slot);
void worker_tell_gone(struct station *, uint16_t slot, enum exit_kind, int32_t number);

#endif
