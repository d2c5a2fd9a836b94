/* The inside of a station, for its own files only. Layer: cli.
 * station.c joins its parts, station_change.c has what a new configuration does to it. */
#ifndef CLI_STATION_STATE_H
#define CLI_STATION_STATE_H

#include "cli/station.h"
#include "cli/station_config.h"

struct station {
	uint16_t place;
	uint32_t serial;
	bool is_superseded, is_draining;
	struct config_pool config; /* owned */
	struct pool_config pool_config;
	struct crew_config crew_config;
	struct consumer_config consumer_config;
	struct publisher_config publisher_config;
	struct notes notes;
	struct report report;
	struct pool *pool;
	struct crew *crew;
	struct consumer *consumer;
	struct publisher *publisher;
	struct feed *feed;   /* NULL before station_connect */
	const char *refusal; /* of the latest command, or NULL */
	mtime turned_at;     /* the latest turn's end */
};

#endif
