#include "cli/fleet.h"

#include <assert.h>
#include <stdlib.h>

/* ---------- life ---------- */

static bool make_place(struct fleet *fleet)
{
	struct station **at = realloc(fleet->at, (fleet->count + 1u) * sizeof *at);

	if (!at)
		return false;
	fleet->at = at;
	fleet->at[fleet->count++] = NULL;
	return true;
}

static uint16_t free_place(const struct fleet *fleet)
{
	uint16_t place = 0;

	while (place < fleet->count && fleet->at[place])
		place++;
	return place;
}

struct station *fleet_add(struct fleet *fleet, const struct station_tools *tools,
	struct config_pool *config, mtime now)
{
	uint16_t place = free_place(fleet);

	if (place == FLEET_MAX || (place == fleet->count && !make_place(fleet)))
		return NULL;
	fleet->at[place] = station_new(tools, config, place, fleet->serials + 1, now);
	if (fleet->at[place])
		fleet->serials++;
	return fleet->at[place];
}

void fleet_remove(struct fleet *fleet, struct station *station)
{
	uint16_t place = station_place(station);

	assert(fleet->at[place] == station);
	fleet->at[place] = NULL;
	station_free(station);
}

void fleet_release(struct fleet *fleet)
{
	for (size_t i = 0; i < fleet->count; i++)
		station_free(fleet->at[i]);
	free(fleet->at);
	*fleet = (struct fleet){0};
}

/* ---------- who is there ---------- */

struct station *fleet_at(const struct fleet *fleet, size_t place)
{
	return place < fleet->count ? fleet->at[place] : NULL;
}

struct station *fleet_next(const struct fleet *fleet, size_t *place)
{
	while (*place < fleet->count) {
		struct station *station = fleet->at[(*place)++];
		if (station)
			return station;
	}
	return NULL;
}

struct station *fleet_find_as_of(const struct fleet *fleet, struct text name, uint32_t newest)
{
	struct station *station, *found = NULL;

	for (size_t i = 0; (station = fleet_next(fleet, &i));) {
		uint32_t serial = station_serial(station);
		if (serial <= newest && (!found || serial > station_serial(found)) &&
			text_is(name, text_from(station_config(station)->name)))
			found = station;
	}
	return found;
}

struct station *fleet_find(const struct fleet *fleet, struct text name)
{
	return fleet_find_as_of(fleet, name, fleet->serials);
}

size_t fleet_pools(const struct fleet *fleet)
{
	struct station *station;
	size_t count = 0;

	for (size_t i = 0; (station = fleet_next(fleet, &i));)
		count += !station_is_leaving(station);
	return count;
}
