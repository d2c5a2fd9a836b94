/* The whole configuration, validated; change.h alone changes it afterwards. Layer: config.
 * Made from one table of settings (settings.h): keys, types, ranges, defaults and help stand there
 * and nowhere else; the reference page, --help and check-config are printed from it. */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "base/buf.h"
#include "base/log.h"
#include "config/config_pool.h"
#include "config/url.h"

#define CONFIG_SOCKET_MAX 107 /* bytes of a Unix socket's path */

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
	bool is_look; /* another process is to use it: what this one may not do is but a doubt */
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
/* What a pool owns; one that was moved out is zeroed, and may be released, too. */
void config_pool_release(struct config_pool *);
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
