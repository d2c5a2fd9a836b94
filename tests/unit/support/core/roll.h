/* What tests of the rolling restart share. */
#ifndef UNIT_ROLL_H
#define UNIT_ROLL_H

#include "unit/support/core/rig.h"

/* Start a pool with that many tasks, sent as far as possible; the recorded effects are cleared. */
void roll_start(struct rig *, struct pool_config, uint64_t tags);
/* The worker of that life answers done. */
void roll_answer(struct rig *, uint16_t slot, uint32_t life);
/* A process fails before it is ready; after one second (or two, or four) there is another. */
void roll_come_to_nothing(struct rig *, uint16_t slot, uint32_t life);

#endif
