/* Bounds of settings that others need to know. Layer: config, plain data. Those of sessions and
 * throttles are in config_session.h and config_throttle.h. */
#ifndef CONFIG_CONFIG_BOUNDS_H
#define CONFIG_CONFIG_BOUNDS_H

#include "base/log.h"
#include "base/mtime.h"

/* Upper bounds of the settings with these names. */
#define CONFIG_WORKERS_MAX     10000
#define CONFIG_PREFETCH_MAX    65535
#define CONFIG_PIPELINE_MAX    64
#define CONFIG_CONCURRENCY_MAX 10000
#define CONFIG_DELAYS_MAX      16

/* How many arguments in queue_arguments, and the bytes of each. */
#define CONFIG_QUEUE_ARGUMENTS_MAX      12
#define CONFIG_QUEUE_ARGUMENT_NAME_MAX  39
#define CONFIG_QUEUE_ARGUMENT_VALUE_MAX 159
/* How many headers in a member of bindings, with match; and its bytes, as config/value/binding.h
 * writes it. */
#define CONFIG_BINDING_HEADERS_MAX 16
#define CONFIG_BINDING_MAX         1000

/* The broker's default (consumer_timeout): then it takes back what is not acked. */
#define CONFIG_ACK_TIMEOUT (30 * MTIME_MINUTE)
/* The maximum of drain. */
#define CONFIG_DRAIN_MAX (30 * 24 * 60 * MTIME_MINUTE)

/* Bounds of the size in log_rate: every line fits. */
#define CONFIG_LOG_BYTES_MIN     (128 * 1024)
#define CONFIG_LOG_BYTES_DEFAULT (1024 * 1024)
#define CONFIG_LOG_BYTES_MAX     (512 * 1024 * 1024)
_Static_assert(CONFIG_LOG_BYTES_MIN >= LOG_LINE_MAX, "every line fits");

#endif
