/* The one table of settings: keys, types, ranges, defaults, variables, flags and help. Layer:
 * config. Parsing, check-config's output, --help and docs/configuration.md are all made from it. */
#ifndef CONFIG_SETTINGS_H
#define CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum setting_scope { SETTING_ROOT, SETTING_POOL };

enum setting_type {
	SETTING_ADDRESSES, /* hosts and host_count of struct config */
	SETTING_TEXT,      /* char *, NULL: unset */
	SETTING_WORDS,     /* char **, NULL: unset */
	SETTING_INTEGER,   /* int64_t */
	SETTING_RANGE,     /* int64_t, and behind it another one, not less */
	SETTING_DURATION,  /* mtime */
	SETTING_SIZE,      /* int64_t, bytes */
	SETTING_CHOICE,    /* an enum: the index in choices */
	SETTING_BOOLEAN,   /* bool */
	SETTING_DELAYS,    /* struct config_delays */
	SETTING_SET,       /* uint32_t: bit n is choices[n] */
	SETTING_PAIRS      /* char **, "name=value" each, NULL: none */
};

/* What becomes of a setting that has changed when the configuration is read again. From most to
 * least; the first is safe for any. */
enum setting_reload {
	RELOAD_ANEW, /* a pool: another one beside it, which drains; the whole: at the next start */
	RELOAD_ROLLS, /* a pool: its workers are replaced, one by one */
	RELOAD_LIVE,  /* it holds from then on */
};

struct setting {
	const char *key; /* with dots: "limits.hard" */
	enum setting_type type;
	size_t offset;              /* in struct config (root) or struct config_pool */
	int64_t least, most;        /* of a number; of a text: its bytes */
	bool may_be_auto;           /* an integer, a range: the word auto, stored as 0 */
	bool may_be_none;           /* a number: the word none, stored as MTIME_NEVER */
	bool is_hidden;             /* values of pairs are not printed */
	const char *const *choices; /* NULL-terminated */
	const char *fallback;       /* the default as text; NULL: none, or default_words tell */
	const char *default_words;  /* a default that is not a constant, for people */
	const char *variable;       /* of the environment; NULL: none */
	const char *flag;           /* "--workers"; NULL: none */
	enum setting_reload reload;
	const char *help;
};

enum { SETTINGS_MOST = 64 };

/* The settings of a scope, those of one section together; at most SETTINGS_MOST. */
const struct setting *settings_of(enum setting_scope, size_t *ret_count);
/* The setting with this key, or NULL. */
const struct setting *settings_find(enum setting_scope, const char *key);

#endif
