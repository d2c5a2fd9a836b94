#include "runtime/reload_plan.h"

#include "config/change.h"
#include "config/value/values.h"

#include <stdlib.h>
#include <string.h>

#define VALUE_LIMIT (64 * 1024)

const char *reload_action_name(enum reload_action action)
{
	static const char *const names[] = {
#define X(action, name) [action] = name,
		RELOAD_ACTIONS(X)
#undef X
	};

	return names[action];
}

/* ---------- changed settings ---------- */

/* Addresses, commands and variables may hold passwords. */
static bool may_hold_secret(const struct setting *setting)
{
	return setting->type == SETTING_ADDRESSES || setting->type == SETTING_WORDS ||
	       setting->type == SETTING_PAIRS || setting->type == SETTING_BINDINGS;
}

/* Append the settings that differ: those that replace the pool (or need a restart), or the others.
 */
static bool append_changes(struct reload_changes *changes, enum setting_scope scope,
	const void *old, const void *other, bool replacing)
{
	const struct setting *setting;

	for (size_t at = 0; (setting = change_next(scope, old, other, &at));) {
		struct reload_change *list, *change;
		if ((change_reload(setting, old, other) == SETTING_REPLACES) != replacing)
			continue;
		list = realloc(changes->list, (changes->count + 1) * sizeof *list);
		if (!list)
			return false;
		changes->list = list;
		change = &list[changes->count++];
		*change = (struct reload_change){
			.setting = setting, .has_values = !may_hold_secret(setting)};
		buf_init(&change->from, VALUE_LIMIT);
		buf_init(&change->to, VALUE_LIMIT);
		if (!change->has_values)
			continue;
		value_append(setting, old, &change->from);
		value_append(setting, other, &change->to);
		if (change->from.failed || change->to.failed)
			return false;
	}
	return true;
}

static void release_changes(struct reload_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++) {
		buf_release(&changes->list[i].from);
		buf_release(&changes->list[i].to);
	}
	free(changes->list);
}

/* ---------- steps ---------- */

/* The two configurations that a plan is about. */
struct both {
	const struct config *old;
	struct config *other;
};

static bool has_name(char *const *names, const char *name)
{
	while (names && *names && strcmp(*names, name) != 0)
		names++;
	return names && *names;
}

/* A task in hand may have come without its routing key, so that it has none for another throttle.
 */
static bool needs_routes(
	const struct config_pool *old, const struct config_pool *config, const struct config *other)
{
	for (char *const *name = config->throttle; name && *name; name++) {
		const char *key = config_find_throttle(other, *name)->key;
		if (key && strcmp(key, "routing_key") == 0 && !has_name(old->throttle, *name) &&
			!old->properties)
			return true;
	}
	return false;
}

/* False: nothing has changed. */
static bool needs_any(const struct both *both, const struct config_pool *old,
	const struct config_pool *config, enum setting_reload *ret)
{
	enum setting_reload own = SETTING_LIVE, throttles = SETTING_LIVE;
	bool is_any = change_is_any(SETTING_POOL, old, config, &own);

	is_any |= change_of_throttles(
		both->old, old->throttle, both->other, config->throttle, &throttles);
	if (needs_routes(old, config, both->other))
		own = SETTING_REPLACES;
	*ret = own < throttles ? own : throttles;
	return is_any;
}

static enum reload_action action_for(const struct both *both, const struct pool_runtime *runtime,
	const struct config_pool *config)
{
	static const enum reload_action actions[] = {
		[SETTING_REPLACES] = RELOAD_REPLACE,
		[SETTING_ROLLS] = RELOAD_RESTART,
		[SETTING_LIVE] = RELOAD_CHANGE,
	};
	enum setting_reload needed;

	if (!runtime)
		return RELOAD_ADD;
	if (!config)
		return RELOAD_REMOVE;
	return needs_any(both, &runtime->config, config, &needed) ? actions[needed] : RELOAD_KEEP;
}

/* Either of runtime and config may be NULL. */
static bool add_step(struct reload_plan *plan, const struct both *both,
	struct pool_runtime *runtime, struct config_pool *config)
{
	struct reload_step *step = &plan->steps[plan->count++];
	const struct config_pool *old = runtime ? &runtime->config : NULL;

	*step = (struct reload_step){.action = action_for(both, runtime, config),
		.name = strdup(config ? config->name : old->name),
		.runtime = runtime,
		.config = config};
	if (!step->name)
		return false;
	return !old || !config ||
	       (append_changes(&step->changes, SETTING_POOL, old, config, true) &&
		       append_changes(&step->changes, SETTING_POOL, old, config, false));
}

/* ---------- throttles ---------- */

/* Either may be NULL. */
static bool add_throttle(struct reload_plan *plan, const struct config_throttle *old,
	const struct config_throttle *other)
{
	struct reload_throttle *throttle = &plan->throttles[plan->throttle_count];
	enum setting_reload needed;

	if (old && other && !change_is_any(SETTING_THROTTLE, old, other, &needed))
		return true;
	plan->throttle_count++;
	*throttle = (struct reload_throttle){.action = !old     ? RELOAD_ADD
						       : !other ? RELOAD_REMOVE
								: RELOAD_CHANGE,
		.name = strdup(other ? other->name : old->name)};
	if (!throttle->name)
		return false;
	return !old || !other ||
	       (append_changes(&throttle->changes, SETTING_THROTTLE, old, other, true) &&
		       append_changes(&throttle->changes, SETTING_THROTTLE, old, other, false));
}

static bool plan_throttles(struct reload_plan *plan, const struct both *both)
{
	const struct config *old = both->old, *other = both->other;

	plan->throttles =
		calloc(old->throttle_count + other->throttle_count + 1, sizeof *plan->throttles);
	if (!plan->throttles)
		return false;
	for (size_t i = 0; i < other->throttle_count; i++) {
		const struct config_throttle *throttle = &other->throttles[i];
		if (!add_throttle(plan, config_find_throttle(old, throttle->name), throttle))
			return false;
	}
	for (size_t i = 0; i < old->throttle_count; i++)
		if (!config_find_throttle(other, old->throttles[i].name) &&
			!add_throttle(plan, &old->throttles[i], NULL))
			return false;
	return true;
}

/* ---------- the plan ---------- */

/* A pool that is leaving has nothing to do with a new one of its name. */
static struct pool_runtime *find_staying(const struct pool_set *pools, const char *name)
{
	struct pool_runtime *runtime = pool_set_find(pools, text_from(name));

	return runtime && !pool_runtime_is_retiring(runtime) ? runtime : NULL;
}

static bool has_pool(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->pool_count; i++)
		if (strcmp(config->pools[i].name, name) == 0)
			return true;
	return false;
}

bool reload_plan_make(struct reload_plan *plan, const struct pool_set *pools,
	const struct config *old, struct config *other)
{
	const struct both both = {old, other};
	struct pool_runtime *runtime;

	*plan = (struct reload_plan){0};
	plan->steps = calloc(other->pool_count + pool_set_pools(pools), sizeof *plan->steps);
	if (!plan->steps || !append_changes(&plan->settings, SETTING_ROOT, old, other, false) ||
		!append_changes(&plan->needs_restart, SETTING_ROOT, old, other, true) ||
		!plan_throttles(plan, &both))
		return false;
	for (size_t i = 0; i < other->pool_count; i++) {
		struct config_pool *config = &other->pools[i];
		if (!add_step(plan, &both, find_staying(pools, config->name), config))
			return false;
	}
	for (size_t i = 0; (runtime = pool_set_next(pools, &i));)
		if (!pool_runtime_is_retiring(runtime) && !has_pool(other, runtime->config.name) &&
			!add_step(plan, &both, runtime, NULL))
			return false;
	return true;
}

void reload_plan_release(struct reload_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		free(plan->steps[i].name);
		release_changes(&plan->steps[i].changes);
	}
	free(plan->steps);
	for (size_t i = 0; i < plan->throttle_count; i++) {
		free(plan->throttles[i].name);
		release_changes(&plan->throttles[i].changes);
	}
	free(plan->throttles);
	release_changes(&plan->settings);
	release_changes(&plan->needs_restart);
	*plan = (struct reload_plan){0};
}
