/* What tests of the rolling restart share. */
#ifndef UNIT_ROLL_H
#define UNIT_ROLL_H

#include "unit/support/core/rig.h"

/* A pool with so many tasks, sent as far as it sends them; nothing written. */
void roll_start(struct rig *, struct pool_config, uint64_t tags);
/* Of a worker of that life: done. */
void roll_answer(struct rig *, uint16_t slot, uint32_t life);
/* A process comes to nothing, and a second (or two, or four) later there is another. */
void roll_come_to_nothing(struct rig *, uint16_t slot, uint32_t life);

#endif
