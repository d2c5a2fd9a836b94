/* Who pays when a worker with several open tasks ends: the simulator's own account of it, made from
 * what the worker did and what was asked of it. An attempt counts only for a task that was alone in
 * its worker, that a protocol error named, or that was over the hard limit while its worker gave a
 * sign of life about another one. All others are suspects or go back. A suspect is alone in its
 * worker; it waits for no idle worker, and at most half of the workers work alone. */
#ifndef SIM_BLAME_H
#define SIM_BLAME_H

#include "sim/workers.h"

/* A task is sent to the worker in this slot; it is not in worker->tasks yet. Sets is_suspect. */
void blame_sent(
	struct pool_runtime *, uint16_t slot, struct worker_task *, const struct delivery *);
/* Before and after a turn. */
void blame_turn(struct pool_runtime *);
/* True: a worker that takes tasks has none. */
bool blame_is_any_idle(const struct pool_runtime *);
void blame_check_turn(const struct pool_runtime *);
/* The pool stops the worker because of the hard limit, or kills it. */
void blame_term(struct pool_runtime *, struct worker *);
void blame_kill(struct pool_runtime *, struct worker *);
/* It sends an output of this task. */
void blame_heard(struct worker *, uint64_t task_id);
/* It breaks the protocol, in a frame that names this id (0: none). */
void blame_broken(struct pool_runtime *, struct worker *, uint64_t task_id);
/* It is gone; afterwards: the pool knows. */
void blame_gone(struct pool_runtime *, struct worker *);
void blame_check_gone(struct pool_runtime *);
/* The pool reports how an attempt ended. */
void blame_told(struct pool_runtime *, const struct notice *);

#endif
