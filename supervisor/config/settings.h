/* The table of settings: keys, types, ranges, defaults, variables, flags and help. Layer:
 * config. Parsing, the output of check-config, --help and docs/configuration.md derive from it. */
#ifndef CONFIG_SETTINGS_H
#define CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum setting_scope {
	SETTING_ROOT,
	SETTING_POOL,
	SETTING_DEFAULTS, /* those of a pool, given once for all pools */
	SETTING_THROTTLE  /* only in a file: without variables and flags */
};

enum setting_type {
	SETTING_ADDRESSES, /* hosts and host_count of struct config */
	SETTING_TEXT,      /* char *, NULL: unset */
	SETTING_WORDS,     /* char **, NULL: unset */
	SETTING_INTEGER,   /* int64_t */
	SETTING_RANGE,     /* int64_t[2]: min and max */
	SETTING_LOG_RATE,  /* int64_t[2]: lines and bytes */
	SETTING_DURATION,  /* mtime */
	SETTING_SIZE,      /* int64_t, bytes */
	SETTING_CHOICE,    /* an enum: the index in choices */
	SETTING_BOOLEAN,   /* bool */
	SETTING_DELAYS,    /* struct config_delays */
	SETTING_SET,       /* uint32_t: bit n is choices[n] */
	SETTING_PAIRS,     /* char **, "name=value" each, NULL: none */
	SETTING_BINDINGS,  /* char **, as in value/binding.h, NULL: none */
	SETTING_QUANTUM,   /* struct config_quantum; min and max are of its tasks */
	SETTING_NAMES      /* char **, NULL: none; max is how many; they are no secrets */
};

/* What a changed setting requires on reload, the most disruptive first. The first is safe for
 * every setting. */
enum setting_reload {
	SETTING_REPLACES, /* a pool: a new one starts while the old one drains; otherwise: a restart
			   */
	SETTING_ROLLS,    /* its workers are restarted, one by one */
	SETTING_LIVE,     /* it applies at once */
};

struct setting {
	const char *key; /* with dots: "limits.hard" */
	enum setting_type type;
	size_t offset;              /* in struct config (root), config_pool or config_throttle */
	int64_t min, max;           /* of a number, or of a text's length in bytes */
	bool may_be_auto;           /* integer or range: accepts auto, stored as 0 */
	bool may_be_none;           /* number: accepts none, stored as MTIME_NEVER */
	bool is_hidden;             /* pairs: values are not printed */
	bool is_own;                /* each pool needs its own: it cannot be a default for all */
	const char *const *choices; /* NULL-terminated */
	const char *fallback;       /* the default as text; NULL: none, or see default_words */
	const char *default_words;  /* describes a default that is not a constant */
	const char *variable;       /* environment variable; NULL: only in a file */
	const char *flag;           /* "--workers"; NULL: none */
	enum setting_reload reload;
	bool none_replaces; /* between none and a value it is SETTING_REPLACES */
	const char *help;
};

enum { SETTINGS_MAX = 80 };

/* The settings of a scope, at most SETTINGS_MAX; those of one section are adjacent. Those of
 * SETTING_DEFAULTS are all of SETTING_POOL. */
const struct setting *settings_of(enum setting_scope, size_t *ret_count);
/* The setting with this key, or NULL. Of SETTING_DEFAULTS without those of each pool's own. */
const struct setting *settings_find(enum setting_scope, const char *key);

#endif
