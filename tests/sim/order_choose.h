/* What a run with sessions is like: chosen by the seed. Layer: simulator. */
#ifndef SIM_ORDER_CHOOSE_H
#define SIM_ORDER_CHOOSE_H

#include "base/buf.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct consumer_config;
struct order;
struct pool_runtime;
struct world;

/* Choose whether the run has sessions, and which. */
void order_choose(struct world *);
/* Choose the configuration of a pool; does nothing in a run without sessions. */
void order_configure(struct pool_runtime *);
/* In a reload: perhaps another window than the present one, or another takeover_delay. */
void order_choose_again(struct pool_runtime *);
/* Configure the window of the last consumer: when a supervisor starts, what that one held may come
 * again. */
void order_keep_window(struct pool_runtime *);
void order_configure_consumer(const struct order *, struct consumer_config *);
/* Choose key and lane of a message that is about to be published, and append its headers. Return
 * its priority. is_invalid: something must be wrong with it; set to false if its key is. */
uint8_t order_arrive(struct world *, uint32_t id, bool *is_invalid, struct buf *headers);
struct text order_key(uint8_t key);

#endif
