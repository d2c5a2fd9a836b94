#include "unit/support/core/roll.h"

void roll_start(struct rig *rig, struct pool_config config, uint64_t tags)
{
	rig_start(rig, config);
	rig_deliver(rig, 1, tags);
	rig_turn(rig);
	rig_forget(rig);
}

void roll_answer(struct rig *rig, uint16_t slot, uint32_t life)
{
	rig_answer_this(rig, slot, life, rig_output(200, NULL));
}

void roll_come_to_nothing(struct rig *rig, uint16_t slot, uint32_t life)
{
	rig_gone(rig, slot, life);
	rig_wait(rig, 4 * MTIME_SECOND);
}
