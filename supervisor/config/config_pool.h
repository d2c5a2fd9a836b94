/* What is configured of one pool. Layer: config; part of config.h, whose words hold here, too. */
#ifndef CONFIG_CONFIG_POOL_H
#define CONFIG_CONFIG_POOL_H

#include "base/mtime.h"
#include "config/rights.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most that the settings of these names take. */
#define CONFIG_WORKERS_MAX  10000
#define CONFIG_PREFETCH_MAX 65535
#define CONFIG_PIPELINE_MAX 64
#define CONFIG_DELAYS_MAX   16

enum pipe_form { PIPE_PATH, PIPE_FIFO, PIPE_COREFX };
enum config_declare { CONFIG_DECLARE_OFF, CONFIG_DECLARE_PASSIVE, CONFIG_DECLARE_ON };
enum config_body { CONFIG_BODY_AUTO, CONFIG_BODY_STR, CONFIG_BODY_BIN };
enum config_headers { CONFIG_HEADERS_TEXT, CONFIG_HEADERS_TYPED };
enum config_unroutable {
	CONFIG_UNROUTABLE_REJECT,
	CONFIG_UNROUTABLE_DROP,
	CONFIG_UNROUTABLE_RETRY
};

/* The bits of retry.on, in the order of its words. */
enum config_retry_on {
	CONFIG_RETRY_FAILED = 1 << 0,
	CONFIG_RETRY_CRASHED = 1 << 1,
	CONFIG_RETRY_TIMED_OUT = 1 << 2,
	CONFIG_RETRY_PROTOCOL_ERROR = 1 << 3,
	CONFIG_RETRY_UNROUTABLE = 1 << 4,
};

struct config_delays {
	mtime each[CONFIG_DELAYS_MAX];
	size_t count;
};

struct config_pool {
	char *name; /* unset: the queue's */
	char *queue;
	char **command;  /* NULL-terminated, at least one */
	char *cwd;       /* or NULL, like all that follows */
	char **env;      /* "NAME=value" */
	char **env_pass; /* "all", "none", names, beginnings with a "*" */
	char *user, *group, *umask;
	char **rlimits; /* "name=value" */
	int64_t nice;
	struct rights rights; /* what the last five come to */
	int64_t workers;      /* default: the number of processors */
	int64_t workers_most; /* as many as are needed, up to this; not less than workers */
	int64_t prefetch;     /* 0: auto */
	int64_t pipeline;     /* 0: auto */
	mtime pipe_wait;
	enum pipe_form pipe;
	enum config_declare declare;
	enum config_body body;
	enum config_headers headers;
	bool properties;
	enum config_unroutable unroutable;
	int64_t max_body; /* bytes */
	int64_t memory;   /* bytes */
	int64_t outbox;   /* bytes */
	int64_t log_rate; /* lines a second */
	bool interrupt;   /* then pipeline is 1 */
	struct {
		mtime soft; /* MTIME_NEVER: none */
		mtime hard, boot, grace;
		int64_t slices;
	} limits;
	struct { /* MTIME_NEVER: none */
		int64_t tasks;
		mtime age;
		int64_t memory, memory_kill; /* bytes */
	} recycle;
	struct {
		int64_t attempts;
		struct config_delays delay; /* after the first failed attempt, the second, ...; the
					       last one holds on */
		int64_t jitter;             /* percent */
		uint32_t on;                /* enum config_retry_on */
		char *dead_letter; /* "<queue>.dead" if not given; "broker": the queue's own policy
				    */
	} retry;
};

#endif
