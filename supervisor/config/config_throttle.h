/* A throttle of the configuration: at most `limit` starts of tasks in each `period`. Layer: config,
 * plain data. */
#ifndef CONFIG_CONFIG_THROTTLE_H
#define CONFIG_CONFIG_THROTTLE_H

#include "base/mtime.h"
#include "config/choices.h"

#include <stddef.h>
#include <stdint.h>

#define CONFIG_THROTTLES_MAX      100
#define CONFIG_POOL_THROTTLES_MAX 4
#define CONFIG_THROTTLE_NAME_MAX  64 /* bytes */
/* Upper bounds of limit and max_keys. */
#define CONFIG_THROTTLE_LIMIT_MAX 1000000
#define CONFIG_THROTTLE_KEYS_MAX  1000000
#define CONFIG_PERIOD_MIN         MTIME_MS
#define CONFIG_SHARED_PERIOD_MIN  (500 * MTIME_MS) /* with scope: cluster */
#define CONFIG_PERIOD_MAX         (365 * 24 * 60 * MTIME_MINUTE)
/* Bytes that the starts of all throttles may take. */
#define CONFIG_THROTTLES_MEMORY ((uint64_t)64 * 1024 * 1024)

struct config_throttle {
	size_t line; /* where it begins in the file */
	char *name;
	int64_t limit;
	mtime period;
	enum config_throttle_scope scope;
	char *key;        /* as session.key, or "session"; NULL: one limit for all */
	int64_t max_keys; /* that are remembered; 1 without key */
	enum config_when_exceeded when_exceeded;
};

/* Bytes that its starts may take; also for figures that are not in a configuration. */
static inline uint64_t config_throttle_memory(int64_t limit, int64_t max_keys)
{
	return (uint64_t)limit * (uint64_t)max_keys * 8;
}

#endif
