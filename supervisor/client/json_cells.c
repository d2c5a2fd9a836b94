#include "client/json_cells.h"

#include "tty/cli_options.h"

#include <inttypes.h>
#include <stdio.h>

#define NOTHING TEXT("-")

#define MINUTE 60.0
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

const json_t *json_cell_find(const json_t *json, const char *path)
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

struct text json_cell_text(const json_t *json, const char *path)
{
	const json_t *found = json_cell_find(json, path);

	return json_is_string(found) ? text_of(json_string_value(found), json_string_length(found))
				     : NOTHING;
}

struct text json_cell_list(const json_t *json, const char *path, char buffer[JSON_CELL_SIZE])
{
	const json_t *member;
	size_t i, len = 0;

	json_array_foreach(json_cell_find(json, path), i, member)
	{
		if (json_is_string(member) && len < JSON_CELL_SIZE)
			len += (size_t)snprintf(buffer + len, JSON_CELL_SIZE - len, "%s%s",
				len > 0 ? ", " : "", json_string_value(member));
	}
	return len > 0 ? text_from(buffer) : NOTHING;
}

double json_cell_value(const json_t *json, const char *path)
{
	const json_t *found = json_cell_find(json, path);

	return json_is_number(found) ? json_number_value(found) : -1;
}

struct text json_cell_number(const json_t *json, const char *path, char buffer[JSON_CELL_SIZE])
{
	double number = json_cell_value(json, path);

	return number < 0 ? NOTHING : text_from(cli_number((uint64_t)number, buffer));
}

struct text json_cell_aged(
	const json_t *json, const char *path, const char *age, char buffer[JSON_CELL_SIZE])
{
	double s = json_cell_value(json, age);
	struct text number = json_cell_number(json, path, buffer);

	if (number.ptr == buffer && s > 1)
		snprintf(buffer + number.len, JSON_CELL_SIZE - number.len,
			s < 2 * MINUTE ? " (%.0f s)" : " (old)", s);
	return number.ptr == buffer ? text_from(buffer) : number;
}

struct text json_cell_plain(const json_t *json, const char *path, char buffer[JSON_CELL_SIZE])
{
	double number = json_cell_value(json, path);

	if (number < 0)
		return NOTHING;
	snprintf(buffer, JSON_CELL_SIZE, "%.0f", number);
	return text_from(buffer);
}

struct text json_cell_span(const json_t *json, const char *path, char buffer[JSON_CELL_SIZE])
{
	double s = json_cell_value(json, path);

	if (s < 0)
		return NOTHING;
	if (s < 0.9995)
		snprintf(buffer, JSON_CELL_SIZE, "%.3g ms", s * 1000);
	else if (s < 2 * MINUTE)
		snprintf(buffer, JSON_CELL_SIZE, "%.1f s", s);
	else if (s < 2 * HOUR)
		snprintf(buffer, JSON_CELL_SIZE, "%.0f min", s / MINUTE);
	else if (s < 2 * DAY)
		snprintf(buffer, JSON_CELL_SIZE, "%.0f h", s / HOUR);
	else
		snprintf(buffer, JSON_CELL_SIZE, "%.0f d", s / DAY);
	return text_from(buffer);
}

struct text json_cell_size(const json_t *json, const char *path, char buffer[JSON_CELL_SIZE])
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	double bytes = json_cell_value(json, path);
	size_t unit = 0;

	if (bytes < 0)
		return NOTHING;
	while (bytes >= 1000 && unit + 1 < sizeof units / sizeof *units) {
		bytes /= 1000;
		unit++;
	}
	snprintf(buffer, JSON_CELL_SIZE, bytes < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", bytes,
		units[unit]);
	return text_from(buffer);
}

struct text json_cell_share(
	const json_t *json, const char *path, const char *whole, char buffer[JSON_CELL_SIZE])
{
	double part = json_cell_value(json, path), all = json_cell_value(json, whole);

	if (part < 0 || all <= 0)
		return NOTHING;
	snprintf(buffer, JSON_CELL_SIZE, "%.0f %%", 100 * part / all);
	return text_from(buffer);
}

struct text json_cell_pair(
	const json_t *json, const char *path, const char *whole, char buffer[JSON_CELL_SIZE])
{
	double part = json_cell_value(json, path), all = json_cell_value(json, whole);

	if (part < 0 || all < 0)
		return NOTHING;
	snprintf(buffer, JSON_CELL_SIZE, "%.0f/%.0f", part, all);
	return text_from(buffer);
}

struct text json_cell_range(
	const json_t *json, const char *path, const char *to, char buffer[JSON_CELL_SIZE])
{
	double min = json_cell_value(json, path), max = json_cell_value(json, to);

	if (min < 0 || max <= min)
		return NOTHING;
	snprintf(buffer, JSON_CELL_SIZE, "%.0f..%.0f", min, max);
	return text_from(buffer);
}
