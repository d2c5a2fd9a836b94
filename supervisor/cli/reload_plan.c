#include "cli/reload_plan.h"

#include "cli/control_json.h"
#include "config/change.h"
#include "config/values.h"

#include <stdlib.h>

#define VALUE_LIMIT (64 * 1024)

/* ---------- in words ---------- */

static const char *deed_words(enum reload_deed deed)
{
	static const char *const words[] = {
#define X(deed, words) [deed] = words,
		RELOAD_DEEDS(X)
#undef X
	};

	return words[deed];
}

static json_t *value_of(const struct setting *setting, const void *base)
{
	struct buf out;
	json_t *value;

	buf_init(&out, VALUE_LIMIT);
	value_append(setting, base, &out);
	value = control_json_text(buf_text(&out));
	buf_release(&out);
	return value;
}

/* Addresses, commands and variables hold passwords at times. */
static json_t *difference(const struct setting *setting, const void *old, const void *other)
{
	if (setting->type == SETTING_ADDRESSES || setting->type == SETTING_WORDS ||
		setting->type == SETTING_PAIRS)
		return json_pack("{s:s}", "key", setting->key);
	return json_pack("{s:s, s:o, s:o}", "key", setting->key, "from", value_of(setting, old),
		"to", value_of(setting, other));
}

json_t *reload_settings(enum setting_scope scope, const void *old, const void *other, bool anew)
{
	json_t *list = json_array();
	const struct setting *setting;

	for (size_t at = 0; (setting = change_next(scope, old, other, &at));)
		if ((setting->reload == RELOAD_ANEW) == anew &&
			json_array_append_new(list, difference(setting, old, other)) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

/* All that differ, those first that can not be taken over. */
static json_t *settings_of_pool(const struct reload_step *step)
{
	const struct config_pool *old = station_config(step->station);
	json_t *list = reload_settings(SETTING_POOL, old, step->config, true);
	json_t *rest = reload_settings(SETTING_POOL, old, step->config, false);

	if (list && rest && json_array_extend(list, rest) == 0) {
		json_decref(rest);
		return list;
	}
	json_decref(list);
	json_decref(rest);
	return NULL;
}

static bool put_in_words(struct reload_step *step)
{
	bool is_both = step->station && step->config;
	const struct config_pool *config =
		step->config ? step->config : station_config(step->station);

	step->words =
		json_pack("{s:s, s:s, s:o}", "name", config->name, "what", deed_words(step->deed),
			"settings", is_both ? settings_of_pool(step) : json_array());
	return step->words != NULL;
}

/* ---------- what is to be done ---------- */

/* One that leaves has nothing to do with a new one of its name. */
static struct station *find(const struct fleet *fleet, const char *name)
{
	struct station *station = fleet_find(fleet, text_from(name));

	return station && !station_is_leaving(station) ? station : NULL;
}

static enum reload_deed deed_of(const struct station *station, const struct config_pool *config)
{
	static const enum reload_deed deeds[] = {
		[RELOAD_ANEW] = RELOAD_REPLACES_IT,
		[RELOAD_ROLLS] = RELOAD_RESTARTS_IT,
		[RELOAD_LIVE] = RELOAD_CHANGES_IT,
	};
	enum setting_reload asked;

	if (!station)
		return RELOAD_ADDS_IT;
	if (!change_is_any(SETTING_POOL, station_config(station), config, &asked))
		return RELOAD_LEAVES_IT;
	return deeds[asked];
}

static bool add_step(struct reload_plan *plan, struct reload_step step)
{
	bool is_said = put_in_words(&step);

	plan->steps[plan->count++] = step;
	return is_said;
}

static bool is_among(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->pool_count; i++)
		if (text_is(text_from(config->pools[i].name), text_from(name)))
			return true;
	return false;
}

static bool add_removed(
	struct reload_plan *plan, const struct fleet *fleet, const struct config *other)
{
	struct station *station;

	for (size_t i = 0; (station = fleet_next(fleet, &i));)
		if (!station_is_leaving(station) &&
			!is_among(other, station_config(station)->name) &&
			!add_step(
				plan, (struct reload_step){RELOAD_REMOVES_IT, station, NULL, NULL}))
			return false;
	return true;
}

bool reload_plan_make(struct reload_plan *plan, const struct fleet *fleet, struct config *other)
{
	*plan = (struct reload_plan){
		calloc(other->pool_count + fleet_pools(fleet), sizeof *plan->steps), 0};
	if (!plan->steps)
		return false;
	for (size_t i = 0; i < other->pool_count; i++) {
		struct config_pool *config = &other->pools[i];
		struct station *station = find(fleet, config->name);
		if (!add_step(plan,
			    (struct reload_step){deed_of(station, config), station, config, NULL}))
			return false;
	}
	return add_removed(plan, fleet, other);
}

void reload_plan_release(struct reload_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		json_decref(plan->steps[i].words);
	free(plan->steps);
}
