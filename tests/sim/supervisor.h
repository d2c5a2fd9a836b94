/* A supervisor of a run: its pools and their connections, as in serve. */
#ifndef SIM_SUPERVISOR_H
#define SIM_SUPERVISOR_H

#include "sim/world.h"

/* Its world and number are set. */
void supervisor_choose(struct supervisor *, const struct settle_policy *);
void supervisor_start(struct supervisor *);
/* As a kill -9 would: nothing more is sent, the broker requeues what was not acked. */
void supervisor_kill(struct supervisor *);
/* To all its pools. When they are quiet it closes its connections, and is dead when all of them
 * are. */
void supervisor_command(struct supervisor *, enum command);
void supervisor_turn(struct supervisor *);
mtime supervisor_deadline(const struct supervisor *);
static inline bool supervisor_is_alive(const struct supervisor *supervisor)
{
	return supervisor->state != SUPERVISOR_DEAD;
}
bool supervisor_is_idle(const struct supervisor *);

#endif
