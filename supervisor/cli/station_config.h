/* The configuration of a pool, as each of a station's parts wants it. Layer: cli, private to
 * station.c. Texts are borrowed from the configuration. */
#ifndef CLI_STATION_CONFIG_H
#define CLI_STATION_CONFIG_H

#include "broker/consumer.h"
#include "broker/publisher.h"
#include "config/config.h"
#include "io/crew.h"

/* Empty: the queue's own policy decides. */
struct text station_dead_letter(const struct config_pool *);
/* Its workers' memory matters. */
bool station_watches_memory(const struct config_pool *);
struct pool_config station_pool_config(const struct config_pool *);
/* All but what the process has: descriptors. */
struct crew_config station_crew_config(const struct config_pool *);
/* seed: of the jitter. */
struct consumer_config station_consumer_config(const struct config_pool *, uint32_t seed);
/* number: from 0, of the pool on the connection that publishes. */
struct publisher_config station_publisher_config(
	const struct config_pool *, uint16_t number, uint32_t seed);
/* What a reply's headers may have of a header frame of frame_max, which is at least 4096. */
uint32_t station_header_bytes(uint32_t frame_max);
/* Says in the log which limits are longer than the broker waits. */
void station_warn_of_limits(const struct config_pool *);

#endif
