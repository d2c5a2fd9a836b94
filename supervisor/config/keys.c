#include "config/keys.h"

#include "config/value/nearest.h"

#include <stdio.h>

/* So many common first letters make a word another form of a key. */
enum { STEM_MIN = 4 };

/* The keys of one section, in the form that nearest_name takes. */
struct keys {
	char bytes[SETTINGS_MAX + 1][KEYS_LONGEST];
	const char *list[SETTINGS_MAX + 2];
	size_t count;
};

bool keys_is_section(enum setting_scope scope, const char *key)
{
	char section[KEYS_LONGEST + 2];
	size_t count;
	const struct setting *setting = settings_of(scope, &count);
	snprintf(section, sizeof section, "%s.", key);
	for (; count > 0; count--, setting++)
		if (text_starts(text_from(setting->key), text_from(section)))
			return true;
	return false;
}

bool keys_is_presentable(const char *key)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_.-";
	return strlen(key) < KEYS_LONGEST && key[strspn(key, allowed)] == '\0';
}

static void add_key(struct keys *keys, struct text key)
{
	if (keys->list[text_index(key, keys->list)])
		return;
	snprintf(keys->bytes[keys->count], KEYS_LONGEST, "%.*s", TEXT_ARGS(key));
	keys->list[keys->count] = keys->bytes[keys->count];
	keys->count++;
}

/* Of "limits.hard", in the section "limits.": "hard"; in "": "limits". */
static void collect(struct keys *keys, enum setting_scope scope, const char *section)
{
	size_t count, len = strlen(section);
	const struct setting *setting = settings_of(scope, &count);
	*keys = (struct keys){0};
	for (; count > 0; count--, setting++)
		if (text_starts(text_from(setting->key), text_from(section)) &&
			!(scope == SETTING_DEFAULTS && setting->is_own))
			add_key(keys,
				text_of(setting->key + len, strcspn(setting->key + len, ".")));
	if (scope == SETTING_ROOT && len == 0) {
		add_key(keys, TEXT("throttles"));
		add_key(keys, TEXT("defaults"));
		add_key(keys, TEXT("pools"));
	}
}

void keys_append(enum setting_scope scope, const char *section, struct buf *out)
{
	struct keys keys;
	collect(&keys, scope, section);
	for (size_t i = 0; i < keys.count; i++)
		buf_printf(out, "%s%s", i > 0 ? ", " : "", keys.list[i]);
}

/* The setting whose last part is key: "hard" belongs to limits.hard. */
static const char *setting_named(enum setting_scope scope, const char *key)
{
	size_t count;
	const struct setting *setting = settings_of(scope, &count);
	for (; count > 0; count--, setting++) {
		const char *dot = strrchr(setting->key, '.');
		if (strcmp(key, dot ? dot + 1 : setting->key) == 0 &&
			settings_find(scope, setting->key))
			return setting->key;
	}
	return NULL;
}

/* Another form of the word: "retries" for retry. */
static const char *key_of_stem(const struct keys *keys, const char *word)
{
	for (size_t i = 0; i < keys->count; i++) {
		const char *key = keys->list[i];
		size_t len = strlen(key), same = 0;
		while (same < len && word[same] == key[same])
			same++;
		if (same >= STEM_MIN && same + 1 >= len)
			return key;
	}
	return NULL;
}

static const char *nearest_key(const struct keys *keys, const char *word)
{
	const char *nearest = nearest_name(text_from(word), keys->list);
	return nearest ? nearest : key_of_stem(keys, word);
}

/* The pool's key that is nearest, for a key that was given outside pools; borrowed from *keys. */
static const char *nearest_of_pool(
	enum setting_scope scope, const char *section, const char *word, struct keys *keys)
{
	if (scope != SETTING_ROOT || *section)
		return NULL;
	collect(keys, SETTING_POOL, "");
	return nearest_key(keys, word);
}

void keys_append_meant(
	enum setting_scope scope, const char *section, const char *key, struct buf *out)
{
	struct keys keys, pool_keys;
	collect(&keys, scope, section);
	const char *nearest = nearest_key(&keys, key);
	const char *of_pool = nearest_of_pool(scope, section, key, &pool_keys);
	const char *elsewhere = setting_named(scope, key);
	const char *dot = settings_find(scope, key) ? strrchr(key, '.') : NULL;
	if (dot) {
		buf_printf(out, "the key is %s, under %.*s", dot + 1, (int)(dot - key), key);
	} else if (elsewhere) {
		buf_printf(out, "the key is %s", elsewhere);
	} else if (nearest) {
		buf_printf(out, "the nearest is %s", nearest);
	} else if (of_pool) {
		buf_printf(out, "the nearest is %s, of a pool", of_pool);
	} else {
		buf_append_text(out, TEXT("there are "));
		keys_append(scope, section, out);
	}
}
