/* The turns of sessions: while another one waits, none gets more than its quantum, and none waits
 * while a worker idles. */
#ifndef SIM_ORDER_TURNS_H
#define SIM_ORDER_TURNS_H

#include "sim/order.h"

void order_turns_begin(struct hand *);
/* A task is sent; with or without a key. */
void order_turns_sent(struct pool_runtime *, const struct worker_task *);
/* Its attempt does not count. */
void order_turns_unsent(struct pool_runtime *, const struct worker_task *);
/* A task without a key is given up, and had its turn. */
void order_turns_given_up(struct hand *);
/* A worker has worked on this task until now. */
void order_turns_worked(struct pool_runtime *, const struct worker_task *);
/* After each step: the wait of a session that waits for no turn begins again. Return those that
 * wait for nothing but their turn, as bits (1u << session). */
uint32_t order_turns_follow(struct pool_runtime *);
/* At the end of a turn of the pool. */
void order_turns_check(const struct pool_runtime *);

#endif
