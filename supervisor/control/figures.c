#include "control/figures.h"

#include "control/answer.h"
#include "os/clock.h"

#include <stdlib.h>
#include <string.h>

struct pool_view pool_view_of(const struct pool_runtime *runtime)
{
	return (struct pool_view){.runtime = runtime,
		.statistics = &runtime->report.statistics,
		.facts = pool_facts(runtime->pool)};
}

/* ---------- what the getters use ---------- */

static const struct slot_counts *slots(struct pool_view *p)
{
	if (!p->has_slots)
		p->slots = pool_slot_counts(p->runtime->pool);
	p->has_slots = true;
	return &p->slots;
}

static const struct session_counts *sessions(struct pool_view *p)
{
	if (!p->has_sessions)
		p->sessions = pool_session_counts(p->runtime->pool);
	p->has_sessions = true;
	return &p->sessions;
}

static struct workers_lines lines(const struct pool_view *p)
{
	return workers_lines(p->runtime->workers);
}

static int64_t messages_of(const struct backlog *backlog)
{
	return backlog ? (int64_t)backlog->messages : MTIME_NEVER;
}

static mtime time_since(mtime then)
{
	return then == MTIME_NEVER ? MTIME_NEVER : mtime_max(clock_now() - then, 0);
}

static mtime time_until(mtime then)
{
	return then == MTIME_NEVER ? MTIME_NEVER : mtime_max(then - clock_now(), 0);
}

static mtime age_of(const struct backlog *backlog)
{
	return time_since(backlog ? backlog->at : MTIME_NEVER);
}

static int64_t waiting_for_time(const struct pool_view *p)
{
	const struct wait_probe *waits = pool_runtime_waits(p->runtime);

	return waits ? (int64_t)waits->total : MTIME_NEVER;
}

static mtime waits_known_at(const struct pool_view *p)
{
	const struct wait_probe *waits = pool_runtime_waits(p->runtime);

	return waits ? waits->known_at : MTIME_NEVER;
}

static const uint64_t *waiting_by_step(const struct pool_view *p)
{
	static const uint64_t none[WAIT_STEPS_MAX];
	const struct wait_probe *waits = pool_runtime_waits(p->runtime);

	return waits ? waits->messages : none;
}

static mtime longest(const struct histogram *histogram)
{
	return histogram->count ? histogram->max : MTIME_NEVER;
}

static bool is_active(struct pool_view *p)
{
	return !sessions(p)->is_standby;
}

static mtime oldest_wait(struct pool_view *p)
{
	mtime since = sessions(p)->oldest_wait;

	return since == MTIME_NEVER ? 0 : time_since(since);
}

/* ---------- the list ---------- */

bool figure_is_of(const struct pool_view *p, enum api_figure_id id)
{
	const struct pool_config *config = &p->runtime->pool_config;

	return (!api_figures[id].of_sessions || config->session.is_on) &&
	       (!api_figures[id].of_throttles || config->throttle_count > 0);
}

int64_t figure_value(struct pool_view *p, enum api_figure_id id)
{
	switch (id) {
#define FIGURE(id, path, unit, getter, ...)                                                        \
	case API_FIGURE_##id:                                                                      \
		return (int64_t)(getter);
#define FIGURE_BY_LABEL(id, ...)
#define FIGURE_TIMES(id, ...)
#include "api/figures.def"
	default:
		abort(); /* it is no single value */
	}
}

const struct histogram *figure_times(const struct pool_view *p, enum api_figure_id id)
{
	switch (id) {
#define FIGURE(id, ...)
#define FIGURE_BY_LABEL(id, ...)
#define FIGURE_TIMES(id, path, getter, ...)                                                        \
	case API_FIGURE_##id:                                                                      \
		return getter;
#include "api/figures.def"
	default:
		abort();
	}
}

/* A value without a name stands for "none". */
void figure_each_label(struct pool_view *p, enum api_figure_id id,
	void (*on_count)(void *ctx, const char *label, const char *value, uint64_t count),
	void *ctx)
{
	switch (id) {
#define FIGURE(id, ...)
#define FIGURE_BY_LABEL(id, path, label, name, count, getter, ...)                                 \
	case API_FIGURE_##id:                                                                      \
		for (unsigned i = 0; i < count; i++)                                               \
			if (*name(i))                                                              \
				on_count(ctx, label, name(i), (getter)[i]);                        \
		break;
#define FIGURE_TIMES(id, ...)
#include "api/figures.def"
	default:
		abort();
	}
}

/* ---------- as JSON ---------- */

/* Values that did not occur are left out. */
static void set_count(void *ctx, const char *label, const char *value, uint64_t count)
{
	json_t **object = ctx;

	(void)label;
	if (count && json_object_set_new(*object, value, json_integer((json_int_t)count)) != 0) {
		json_decref(*object);
		*object = NULL;
	}
}

/* The buckets that are not empty, the shortest first: start, bound, count. */
static json_t *json_of_times(const struct histogram *histogram)
{
	json_t *buckets = json_array();

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (histogram->counts[i] &&
			json_array_append_new(buckets,
				json_pack("[o, o, I]", control_json_span(histogram_bucket_start(i)),
					control_json_span(histogram_bucket_bound(i)),
					(json_int_t)histogram->counts[i])) != 0) {
			json_decref(buckets);
			return NULL;
		}
	return buckets;
}

static json_t *json_of(struct pool_view *p, enum api_figure_id id)
{
	enum api_unit unit = api_figures[id].unit;
	json_t *object;
	int64_t value;

	if (unit == API_TIMES)
		return json_of_times(figure_times(p, id));
	if (unit == API_BY_LABEL) {
		object = json_object();
		figure_each_label(p, id, set_count, &object);
		return object;
	}
	value = figure_value(p, id);
	if (value == MTIME_NEVER)
		return json_null();
	if (unit == API_FLAG)
		return json_boolean(value);
	return unit == API_SECONDS ? control_json_span(value) : json_integer(value);
}

/* "workers.busy" becomes a member of a member. */
static bool set_member(json_t *pool, const char *path, json_t *value)
{
	const char *dot = strchr(path, '.');
	char name[32];
	json_t *group;

	if (!dot)
		return json_object_set_new(pool, path, value) == 0;
	snprintf(name, sizeof name, "%.*s", (int)(dot - path), path);
	group = json_object_get(pool, name);
	if (!group) {
		group = json_object();
		json_object_set_new(pool, name, group);
	}
	return json_object_set_new(group, dot + 1, value) == 0;
}

bool figures_set_members(struct pool_view *p, json_t *pool)
{
	for (size_t i = 0; i < API_FIGURE_COUNT; i++)
		if (api_figures[i].path && figure_is_of(p, i) &&
			!set_member(pool, api_figures[i].path, json_of(p, i)))
			return false;
	return true;
}
