/* POST /v1/VERB, /v1/pools/NAME/VERB: what operators ask of one pool or of all. */
#include "cli/control_json.h"
#include "cli/control_list.h"
#include "cli/control_routes.h"
#include "config/quantity.h"
#include "io/clock.h"

#include <string.h>

#define POOLS TEXT("/v1/pools/")

/* The last word of the path; the routes let no other through. */
static enum command command_of(const char *path)
{
	const char *verb = strrchr(path, '/') + 1;

	if (strcmp(verb, "pause") == 0)
		return COMMAND_PAUSE;
	if (strcmp(verb, "resume") == 0)
		return COMMAND_RESUME;
	return strcmp(verb, "restart") == 0 ? COMMAND_RESTART : COMMAND_SCALE;
}

/* What is no number is refused by the pool, as 0 is. */
static uint32_t bounded(int64_t number)
{
	return number > 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* "8"; "2..32", as many as are needed; "auto", as configured. */
static const char *scale(struct station *station, const char *words)
{
	int64_t least = 0, most = 0;

	if (words && strcmp(words, "auto") == 0)
		return station_scale_as_configured(station, clock_now());
	if (!words || !quantity_read_range(text_from(words), &least, &most) || !bounded(most))
		least = 0;
	return station_scale(station, bounded(least), bounded(most), clock_now());
}

/* Why it was refused; NULL: it was not. */
static const char *steer(struct station *station, const struct http_request *request)
{
	enum command command = command_of(request->path);

	if (command == COMMAND_SCALE)
		return scale(station, http_query(request, "workers"));
	return station_command(station, command, 0, clock_now());
}

/* Each is asked, whatever the others say: but for those that leave they stop together, if at all.
 * One that works on until its successor is ready is paused with it. */
static const char *steer_all(const struct overview *overview, const struct http_request *request)
{
	const char *refusal = NULL;
	struct station *station;

	for (size_t i = 0; (station = fleet_next(overview->fleet, &i));) {
		const char *one = station_is_draining(station) ? NULL : steer(station, request);
		refusal = refusal ? refusal : one;
	}
	return refusal;
}

static bool is_before(const struct station *station, const struct station *only)
{
	return station != only && !station_is_draining(station) &&
	       strcmp(station_config(station)->name, station_config(only)->name) == 0;
}

static const char *steer_only(
	const struct overview *overview, struct station *only, const struct http_request *request)
{
	enum command command = command_of(request->path);
	struct station *station;

	for (size_t i = 0; (station = fleet_next(overview->fleet, &i));)
		if (is_before(station, only) &&
			(command == COMMAND_PAUSE || command == COMMAND_RESUME))
			steer(station, request);
	return steer(only, request);
}

static struct text name_in(const char *path)
{
	const char *name = path + POOLS.len;

	return text_of(name, strcspn(name, "/"));
}

/* The pools, as they are now, as GET /v1/pools has them. */
void control_answer_steer(const struct overview *overview, const struct http_request *request)
{
	struct station *only = NULL;
	const char *refusal;

	if (text_starts(text_from(request->path), POOLS)) {
		only = fleet_find(overview->fleet, name_in(request->path));
		if (!only) {
			control_refuse_pool(overview, request, name_in(request->path));
			return;
		}
	}
	refusal = only ? steer_only(overview, only, request) : steer_all(overview, request);
	if (refusal)
		control_refuse(request, 409, refusal, NULL);
	else
		control_answer_pools_only(overview, request, only ? station_serial(only) : 0);
}
