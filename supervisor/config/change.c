#include "config/change.h"

#include "config/url/addresses.h"
#include "config/value/values.h"

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
