/* The whole configuration, validated; nothing changes it afterwards. Layer: config.
 * Made from one table of settings (settings.h): keys, types, ranges, defaults and help stand there
 * and nowhere else; the reference page, --help and check-config are printed from it. */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "base/buf.h"
#include "base/log.h"
#include "config/url.h"

/* The most that the settings of these names take. */
#define CONFIG_WORKERS_MAX  10000
#define CONFIG_PREFETCH_MAX 65535
#define CONFIG_PIPELINE_MAX 64
#define CONFIG_DELAYS_MAX   16
#define CONFIG_SOCKET_MAX   107 /* bytes of a Unix socket's path */

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
	char **command;   /* NULL-terminated, at least one */
	int64_t workers;  /* default: the number of processors */
	int64_t prefetch; /* 0: auto */
	int64_t pipeline; /* 0: auto */
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
	bool interrupt;   /* then pipeline is 1 */
	struct {
		mtime soft; /* MTIME_NEVER: none */
		mtime hard, boot, grace;
		int64_t slices;
	} limits;
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

struct config {
	struct broker_url
		*hosts; /* tried in turn; all carry the same user, vhost and options or their own */
	size_t host_count;
	mtime heartbeat;
	mtime drain; /* the one deadline of a graceful stop */
	enum log_level log_level;
	enum config_log_format { CONFIG_LOG_AUTO, CONFIG_LOG_TEXT, CONFIG_LOG_JSON } log_format;
	char *control_socket; /* a path; "auto", "off" */
	char *http_listen;    /* listen.h; "off" */
	struct config_pool *pools;
	size_t pool_count;
};

/* What the command line gave; NULL where it did not. Flags win over environment, environment over
 * defaults; with a file, the file has the pools and flags for pools are an error. */
struct config_flags {
	const char *file, *broker, *queue, *workers, *prefetch, *pipeline, *pipe, *declare,
		*log_level, *log_format;
	char *const *command; /* NULL-terminated, or NULL */
};

/* environment: "NAME=value" strings, NULL-terminated. RC_OK: *ret is owned by the caller, and
 * problems holds a line for everything that is odd, but no mistake (mostly nothing). Else problems
 * holds one line for every mistake: "file:line: what is wrong; what would be right". In neither is
 * anything of a password. RC_REFUSED: all mistakes are on the command line, or what is needed was
 * given nowhere (exit 64); RC_MALFORMED: the configuration is wrong (exit 78); RC_NOT_FOUND: no
 * such file, or not readable; RC_MEMORY. */
enum rc config_load(const struct config_flags *, char *const *environment, struct config **ret,
	struct buf *problems) MUST_CHECK;
void config_free(struct config *);
/* The broker's addresses alone, for commands that have no pools: from flag (--broker: one address
 * or several with commas between; NULL: not given), else from the environment, else the default.
 * RC_OK: *ret is an array for broker_urls_free. Codes and problems as config_load. */
enum rc config_load_broker(const char *flag, char *const *environment, struct broker_url **ret,
	size_t *ret_count, struct buf *problems) MUST_CHECK;
/* The effective configuration as YAML that config_load would take again, secrets hidden. */
void config_print(const struct config *, struct buf *out);
/* The settings that have a flag, for serve's --help: a line or more for each, from the table. */
void config_print_flags(struct buf *out);
/* The reference page (Markdown), from the table. */
void config_print_reference(struct buf *out);

#endif
