/* A supervisor of a run: its pools and their connections, as in serve. */
#ifndef SIM_SUPERVISOR_H
#define SIM_SUPERVISOR_H

#include "sim/world.h"

/* Choose its pools; its world and number are set. */
void supervisor_choose(struct supervisor *, const struct settle_policy *);
void supervisor_start(struct supervisor *);
/* End it as SIGKILL would: it sends nothing more, and the broker requeues what is unacked. */
void supervisor_kill(struct supervisor *);
/* Send the command to all its pools. When they are quiet it closes its connections; when these are
 * closed it is dead. */
void supervisor_command(struct supervisor *, enum command);
void supervisor_turn(struct supervisor *);
mtime supervisor_deadline(const struct supervisor *);
static inline bool supervisor_is_alive(const struct supervisor *supervisor)
{
	return supervisor->state != SUPERVISOR_DEAD;
}
bool supervisor_is_idle(const struct supervisor *);

#endif
