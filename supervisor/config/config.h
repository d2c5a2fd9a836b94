/* The validated configuration; only change.h modifies it afterwards. Layer: config. Everything
 * derives from the table in settings.h: keys, types, ranges, defaults and help. The reference
 * page, --help and check-config are printed from it. */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "base/buf.h"
#include "base/log.h"
#include "base/mtime.h"
#include "config/choices.h"
#include "config/config_bounds.h"
#include "config/config_session.h"
#include "config/config_throttle.h"
#include "config/problems.h"
#include "config/rights.h"
#include "config/url/url.h"

struct config_delays {
	mtime each[CONFIG_DELAYS_MAX];
	size_t count;
};

struct config_pool {
	size_t line;        /* where it begins in the file; 0: it is in none */
	char *name, *queue; /* the default of name is derived from queue */
	char **command;     /* NULL-terminated, at least one; NULL: preload is set */
	char **preload;     /* the same in its place; or NULL */
	char *cwd;          /* or NULL, like those that follow */
	char **env;         /* "NAME=value" */
	char **env_pass;    /* "auto", "all", "none", names, beginnings with a "*" */
	char *user, *group, *umask;
	char **rlimits; /* "name=value" */
	int64_t nice;
	bool new_privs;
	struct rights rights; /* derived from user, group, new_privs, umask, rlimits and nice */
	int64_t workers;      /* default: the number of processors */
	int64_t workers_max;  /* autoscaled up to this; at least workers */
	int64_t prefetch;     /* 0: auto; never with sessions */
	int64_t pipeline;     /* 0: auto */
	int64_t concurrency;  /* above 1: implies pipeline 1 */
	mtime pipe_wait;
	enum pipe_form pipe;
	enum config_declare declare;
	char **queue_arguments; /* "NAME=VALUE"; or NULL */
	char **bindings;        /* value/binding.h; or NULL */
	enum config_body body;
	enum config_headers headers;
	bool properties;
	enum config_unroutable unroutable;
	char **reply_queues; /* patterns, where a * stands for any characters; NULL: any queue */
	int64_t max_body;    /* bytes */
	int64_t memory;      /* bytes */
	int64_t outbox;      /* bytes */
	int64_t log_rate;    /* lines a second */
	int64_t log_bytes;   /* a second */
	bool interrupt;      /* the same as limits.on_soft CONFIG_SOFT_CONTEXT_SWITCH */
	struct {
		mtime soft;                      /* MTIME_NEVER: none */
		enum config_soft_action on_soft; /* other than nothing: implies pipeline 1 */
		mtime hard, boot, grace;
		int64_t slices;
		int64_t group_processes; /* MTIME_NEVER: none */
		int64_t group_memory;    /* bytes; MTIME_NEVER: none */
	} limits;
	struct { /* MTIME_NEVER: none */
		int64_t tasks;
		mtime age;
		int64_t memory, memory_kill; /* bytes */
	} recycle;
	struct {
		int64_t attempts;
		struct config_delays delay; /* after the first failed attempt, the second, ...; the
					       last one repeats */
		int64_t jitter;             /* percent */
		uint32_t on;                /* bit n: enum config_retry n */
		char *dead_letter; /* default "<queue>.dead"; "broker": the queue's own policy */
	} retry;
	struct config_session session;
	char **throttle; /* names, in the order in which they are asked; NULL: none */
};

/* The program of its workers with its arguments, executed or preloaded. */
static inline char **config_pool_program(const struct config_pool *pool)
{
	return pool->preload ? pool->preload : pool->command;
}

#define CONFIG_SOCKET_MAX 107 /* bytes of a Unix socket's path */

struct config {
	struct broker_url *hosts; /* tried in turn; each has its own user, vhost and options */
	size_t host_count;
	/* Where they were given: "file", "environment", "option" or, nowhere, "default"; static. */
	const char *hosts_from;
	char *password_file; /* as configured; or NULL. The path is in each host */
	mtime heartbeat;
	mtime drain; /* the deadline of a graceful stop */
	enum log_level log_level;
	enum config_log_format log_format;
	char *control_socket;  /* a path; "auto", "off" */
	char *control_group;   /* or NULL */
	char *http_listen;     /* listen.h; "off" */
	char **secrets;        /* derived: the variables of the environment that hold a password
				  (secrets.h) */
	char **http_hosts;     /* NULL-terminated, or NULL */
	char *http_token_file; /* as configured; or NULL */
	struct config_throttle *throttles;
	size_t throttle_count;
	struct config_pool *pools;
	size_t pool_count;
};

/* Flags of the command line; NULL: not given. Flags override the environment, which overrides
 * defaults. With a file, the file has the pools, and flags for pools are an error. */
struct config_flags {
	bool is_for_other_process; /* checked for another process: missing rights are only a warning
				    */
	bool is_reload; /* the file must be regular: a loop would wait for the writer of a FIFO */
	const char *file, *broker, *queue, *workers, *prefetch, *pipeline, *concurrency, *pipe,
		*declare, *log_level, *log_format;
	char *const *command; /* NULL-terminated, or NULL */
};

/* environment: "NAME=value" strings, NULL-terminated. problems: empty; to be released in any case.
 * RC_OK: *ret moves out, and problems has the warnings. Otherwise problems has all errors. None
 * contains a password. RC_REFUSED: all errors are on the command line, or a required setting is
 * missing (exit 64). RC_MALFORMED: the configuration is invalid (exit 78). RC_NOT_FOUND: the file
 * cannot be read. RC_MEMORY. */
enum rc config_load(const struct config_flags *, char *const *environment, struct config **ret,
	struct problems *) MUST_CHECK;
void config_free(struct config *);
/* The throttle with this name, or NULL. */
const struct config_throttle *config_find_throttle(const struct config *, const char *name);
/* Free what a pool owns. Safe on a zeroed pool, whose contents have moved out. */
void config_pool_release(struct config_pool *);
/* Only the broker's addresses, for commands without pools: from flag (--broker, comma-separated;
 * NULL: not given), else the environment, else the default. RC_OK: *ret is an array for
 * broker_urls_free. Return codes and problems as in config_load. */
enum rc config_load_broker(const char *flag, char *const *environment, struct broker_url **ret,
	size_t *ret_count, struct problems *) MUST_CHECK;
/* Append the effective configuration as YAML that config_load accepts, with secrets hidden. */
void config_print(const struct config *, struct buf *out);
/* Append the settings that have a flag, for the --help of serve. */
void config_print_flags(struct buf *out);
/* Append the reference page in Markdown. */
void config_print_reference(struct buf *out);

#endif
