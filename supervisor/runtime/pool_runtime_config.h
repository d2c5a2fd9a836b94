/* Translate a pool's configuration for each part of a pool runtime. Layer: runtime, private to
 * pool_runtime.c. Texts are borrowed from the configuration. */
#ifndef RUNTIME_POOL_RUNTIME_CONFIG_H
#define RUNTIME_POOL_RUNTIME_CONFIG_H

#include "broker/consumer.h"
#include "broker/publisher.h"
#include "config/config.h"
#include "worker/workers.h"

/* The dead-letter queue; empty: the queue's own policy decides. */
struct text pool_runtime_dead_letter(const struct config_pool *);
/* True if the memory of the workers is limited. */
bool pool_runtime_watches_memory(const struct config_pool *);
struct pool_config pool_runtime_pool_config(const struct config_pool *);
/* Everything but the limit on descriptors. */
struct workers_config pool_runtime_workers_config(const struct config_pool *);
/* seed: of the jitter. */
struct consumer_config pool_runtime_consumer_config(const struct config_pool *, uint32_t seed);
struct publisher_config pool_runtime_publisher_config(const struct config_pool *, uint32_t seed);
/* How many bytes a reply's headers may have if frame_max (at least 4096) is negotiated. */
uint32_t pool_runtime_header_bytes(uint32_t frame_max);

#endif
