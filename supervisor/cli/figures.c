#include "cli/figures.h"

#include "cli/usage.h"

#include <inttypes.h>
#include <stdio.h>

#define NOTHING TEXT("-")

#define MINUTE 60.0
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

const json_t *figure_find(const json_t *json, const char *path)
{
	char key[64];

	while (json && *path) {
		size_t len = strcspn(path, ".");
		snprintf(key, sizeof key, "%.*s", (int)len, path);
		json = json_object_get(json, key);
		path += len + (path[len] == '.');
	}
	return json;
}

struct text figure_text(const json_t *json, const char *path)
{
	const json_t *found = figure_find(json, path);

	return json_is_string(found) ? text_of(json_string_value(found), json_string_length(found))
				     : NOTHING;
}

double figure_value(const json_t *json, const char *path)
{
	const json_t *found = figure_find(json, path);

	return json_is_number(found) ? json_number_value(found) : -1;
}

struct text figure_number(const json_t *json, const char *path, char room[FIGURE_ROOM])
{
	double number = figure_value(json, path);

	return number < 0 ? NOTHING : text_from(usage_number((uint64_t)number, room));
}

struct text figure_plain(const json_t *json, const char *path, char room[FIGURE_ROOM])
{
	double number = figure_value(json, path);

	if (number < 0)
		return NOTHING;
	snprintf(room, FIGURE_ROOM, "%.0f", number);
	return text_from(room);
}

struct text figure_span(const json_t *json, const char *path, char room[FIGURE_ROOM])
{
	double s = figure_value(json, path);

	if (s < 0)
		return NOTHING;
	if (s < 1)
		snprintf(room, FIGURE_ROOM, "%.3g ms", s * 1000);
	else if (s < 2 * MINUTE)
		snprintf(room, FIGURE_ROOM, "%.1f s", s);
	else if (s < 2 * HOUR)
		snprintf(room, FIGURE_ROOM, "%.0f min", s / MINUTE);
	else if (s < 2 * DAY)
		snprintf(room, FIGURE_ROOM, "%.0f h", s / HOUR);
	else
		snprintf(room, FIGURE_ROOM, "%.0f d", s / DAY);
	return text_from(room);
}

struct text figure_size(const json_t *json, const char *path, char room[FIGURE_ROOM])
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	double bytes = figure_value(json, path);
	size_t unit = 0;

	if (bytes < 0)
		return NOTHING;
	while (bytes >= 1000 && unit + 1 < sizeof units / sizeof *units) {
		bytes /= 1000;
		unit++;
	}
	snprintf(room, FIGURE_ROOM, bytes < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", bytes,
		units[unit]);
	return text_from(room);
}

struct text figure_share(
	const json_t *json, const char *path, const char *whole, char room[FIGURE_ROOM])
{
	double part = figure_value(json, path), all = figure_value(json, whole);

	if (part < 0 || all <= 0)
		return NOTHING;
	snprintf(room, FIGURE_ROOM, "%.0f %%", 100 * part / all);
	return text_from(room);
}

struct text figure_pair(
	const json_t *json, const char *path, const char *whole, char room[FIGURE_ROOM])
{
	double part = figure_value(json, path), all = figure_value(json, whole);

	if (part < 0 || all < 0)
		return NOTHING;
	snprintf(room, FIGURE_ROOM, "%.0f/%.0f", part, all);
	return text_from(room);
}
