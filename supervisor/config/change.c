#include "config/change.h"

#include "config/url/addresses.h"
#include "config/value/values.h"

#include <string.h>

static bool differs(const struct setting *setting, const void *old, const void *other)
{
	if (setting->type == SETTING_ADDRESSES)
		return !addresses_are_same(old, other);
	return !value_is_same(setting, old, other);
}

const struct setting *change_next(
	enum setting_scope scope, const void *old, const void *other, size_t *at)
{
	size_t count;
	const struct setting *settings = settings_of(scope, &count);

	while (*at < count) {
		const struct setting *setting = &settings[(*at)++];
		if (differs(setting, old, other))
			return setting;
	}
	return NULL;
}

enum setting_reload change_reload(const struct setting *setting, const void *old, const void *other)
{
	if (setting->none_replaces && value_is_none(setting, old) != value_is_none(setting, other))
		return SETTING_REPLACES;
	return setting->reload;
}

bool change_is_any(
	enum setting_scope scope, const void *old, const void *other, enum setting_reload *ret)
{
	const struct setting *setting;
	bool is_any = false;

	for (size_t at = 0; (setting = change_next(scope, old, other, &at)); is_any = true) {
		enum setting_reload reload = change_reload(setting, old, other);
		if (!is_any || reload < *ret)
			*ret = reload;
	}
	return is_any;
}

void change_take_over(enum setting_scope scope, void *base, void *other)
{
	const struct setting *setting;

	for (size_t at = 0; (setting = change_next(scope, base, other, &at));)
		if (change_reload(setting, base, other) != SETTING_REPLACES)
			value_swap(setting, base, other);
}

/* ---------- throttles ---------- */

static bool has_name(char *const *names, const char *name)
{
	for (; names && *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

bool change_of_throttles(const struct config *old, char *const *old_names,
	const struct config *other, char *const *names, enum setting_reload *ret)
{
	bool is_any = false;

	for (; names && *names; names++) {
		const struct config_throttle *before = config_find_throttle(old, *names);
		const struct config_throttle *now = config_find_throttle(other, *names);
		enum setting_reload needed;
		if (!before || !now || !has_name(old_names, *names) ||
			!change_is_any(SETTING_THROTTLE, before, now, &needed))
			continue;
		if (!is_any || needed < *ret)
			*ret = needed;
		is_any = true;
	}
	return is_any;
}

void change_take_over_throttles(struct config *config, struct config *other)
{
	struct config_throttle *throttles = config->throttles;
	size_t count = config->throttle_count;

	config->throttles = other->throttles;
	config->throttle_count = other->throttle_count;
	other->throttles = throttles;
	other->throttle_count = count;
}
