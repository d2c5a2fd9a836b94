/* What a pool shows of its sessions, compared with what it has in hand. */
#ifndef SIM_ORDER_FACTS_H
#define SIM_ORDER_FACTS_H

#include "sim/order.h"

/* After each step: note which sessions have become idle, and check those that have a turn. */
void order_facts_follow(struct pool_runtime *);
/* At the end of a turn. */
void order_facts_check(const struct pool_runtime *);
/* The message that the session gives next; 0: none. */
uint32_t order_facts_next(const struct pool_runtime *, uint8_t key);
/* At rest: nothing is detached, and no session has work. */
void order_facts_check_rest(const struct pool_runtime *);

#endif
