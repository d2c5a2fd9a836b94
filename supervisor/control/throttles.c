/* GET /v1/throttles, POST /v1/throttles/NAME?limit=N&period=T: the throttles, and other figures
 * from now on. */
#include "control/throttles.h"

#include "config/value/quantity.h"
#include "control/answer.h"
#include "control/routes.h"
#include "core/throttle/member.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define THROTTLES TEXT("/v1/throttles/")
/* Of all throttles together: to count the starts of one takes some 100 ns. */
#define KEYS_COUNTED_MAX 20000
#define NAMES_LIMIT      (16 * 1024)
#define SPAN_SIZE        32

/* ---------- figures ---------- */

/* The pools have its name from it. */
static int64_t waiting_for(const struct supervisor_view *view, const struct named_throttle *named)
{
	const struct pool_runtime *runtime;
	int64_t waiting = 0;

	for (size_t i = 0; (runtime = pool_set_next(view->pool_set, &i));) {
		struct pool_facts facts = pool_facts(runtime->pool);
		waiting += facts.throttled_by == named->name ? facts.throttled : 0;
	}
	return waiting;
}

static void add_shared_figures(struct throttle_view *view, mtime now)
{
	const struct member *member = view->named->member;
	struct member_facts facts;
	enum throttle_leader leader;
	uint64_t in_windows;

	view->requests = view->requested = view->granted = view->unused = view->late = MTIME_NEVER;
	view->leader = NULL;
	view->leads = MTIME_NEVER;
	if (!member)
		return;
	facts = member_facts(member, now);
	view->requests = (int64_t)facts.grants.requests;
	view->requested = (int64_t)facts.grants.requested;
	view->granted = (int64_t)facts.grants.granted;
	view->unused = (int64_t)facts.grants.unused;
	view->late = (int64_t)facts.grants.late;
	leader = throttles_leader(view->named);
	view->leader = throttle_leader_name(leader);
	view->leads = leader == THROTTLE_LEADER_HERE;
	if (facts.grants.heard_at == MTIME_NEVER || now - facts.grants.heard_at > view->period)
		view->in_windows = MTIME_NEVER;
	if (member_in_windows(member, now, &in_windows))
		view->in_windows = (int64_t)in_windows;
	if (leader == THROTTLE_LEADER_NONE)
		view->retry_after = MTIME_NEVER;
}

static struct throttle_view view_of(
	const struct supervisor_view *view, const struct named_throttle *named)
{
	const struct throttle *throttle = named->throttle;
	const struct throttle_figures *figures = throttle_figures(throttle);
	mtime now = throttles_now();
	uint32_t keys_max = (uint32_t)(KEYS_COUNTED_MAX / view->throttles->count);
	uint64_t in_windows;
	bool is_counted = throttle_in_windows(throttle, now, keys_max, &in_windows);
	struct throttle_view throttle_view = {.named = named,
		.period = figures->period,
		.retry_after = named->key ? MTIME_NEVER : throttle_wait(throttle, now),
		.limit = figures->limit,
		.max_keys = figures->max_keys,
		.in_windows = is_counted ? (int64_t)in_windows : MTIME_NEVER,
		.keys = throttle_keys(throttle),
		.waiting = waiting_for(view, named),
		.starts = (int64_t)throttle_starts(throttle),
		.delayed = (int64_t)throttle_delays(throttle),
		.postponed = (int64_t)named->postponed,
		.refused = (int64_t)named->refused};

	add_shared_figures(&throttle_view, now);
	return throttle_view;
}

bool throttle_view_next(
	const struct supervisor_view *view, size_t *place, struct throttle_view *ret)
{
	const struct throttles *throttles = view->throttles;

	while (*place < throttles->count) {
		const struct named_throttle *named = throttles->list[(*place)++];
		if (!throttles_is_latest(throttles, named))
			continue;
		*ret = view_of(view, named);
		return true;
	}
	return false;
}

/* ---------- as JSON ---------- */

static const char *scope_name(enum config_throttle_scope scope)
{
#define X(scope, name) [scope] = (name),
	static const char *const names[] = {CONFIG_THROTTLE_SCOPES(X)};
#undef X

	return names[scope];
}

static const char *exceeded_name(enum config_when_exceeded when)
{
#define X(when, name) [when] = (name),
	static const char *const names[] = {CONFIG_WHEN_EXCEEDED(X)};
#undef X

	return names[when];
}

static bool uses(const struct pool_runtime *runtime, const struct named_throttle *named)
{
	const struct pool_config *config = &runtime->pool_config;

	for (uint8_t i = 0; i < config->throttle_count; i++)
		if (config->throttles[i].throttle == named->throttle)
			return true;
	return false;
}

/* Of several pools with one name, the one that replaces the others. */
static json_t *json_of_pools(const struct supervisor_view *view, const struct named_throttle *named)
{
	const struct pool_runtime *runtime;
	json_t *pools = json_array();

	for (size_t i = 0; pools && (runtime = pool_set_next(view->pool_set, &i));) {
		if (runtime->successor || !uses(runtime, named))
			continue;
		if (json_array_append_new(pools, json_text(text_from(runtime->config.name))) == 0)
			continue;
		json_decref(pools);
		pools = NULL;
	}
	return pools;
}

static json_t *json_of_period(mtime period)
{
	struct buf text;
	json_t *json;

	buf_init(&text, SPAN_SIZE);
	quantity_append_duration(&text, period);
	json = json_text(buf_text(&text));
	buf_release(&text);
	return json;
}

static json_t *json_of_figures(int64_t limit, mtime period)
{
	return json_pack("{s:I, s:o, s:o}", "limit", (json_int_t)limit, "period",
		json_of_period(period), "period_s", control_json_span(period));
}

static json_t *json_of_count(int64_t count)
{
	return count == MTIME_NEVER ? json_null() : json_integer(count);
}

static json_t *json_of_throttle(
	const struct supervisor_view *view, const struct throttle_view *throttle)
{
	const struct named_throttle *named = throttle->named;
	json_t *json = json_of_figures(throttle->limit, throttle->period);
	json_t *more = json_pack("{s:o, s:o, s:s, s:s?, s:o, s:I, s:s, s:o, s:o, s:I, s:o, s:I, "
				 "s:{s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}}",
		"name", json_text(text_from(named->name)), "configured",
		json_of_figures(named->configured.limit, named->configured.period), "scope",
		scope_name(named->scope), "leader", throttle->leader, "key",
		named->key ? json_text(text_from(named->key)) : json_null(), "max_keys",
		(json_int_t)throttle->max_keys, "when_exceeded",
		exceeded_name(named->when_exceeded), "pools", json_of_pools(view, named),
		"starts_in_window", json_of_count(throttle->in_windows), "waiting",
		(json_int_t)throttle->waiting, "retry_after_s",
		control_json_span(throttle->retry_after), "keys", (json_int_t)throttle->keys,
		"totals", "starts", (json_int_t)throttle->starts, "delayed",
		(json_int_t)throttle->delayed, "postponed", (json_int_t)throttle->postponed,
		"refused", (json_int_t)throttle->refused, "requests",
		json_of_count(throttle->requests), "requested", json_of_count(throttle->requested),
		"granted", json_of_count(throttle->granted), "unused",
		json_of_count(throttle->unused), "late", json_of_count(throttle->late));

	if (json && more && json_object_update(json, more) == 0) {
		json_decref(more);
		return json;
	}
	json_decref(more);
	json_decref(json);
	return NULL;
}

static bool append_next(struct control_list *list, struct buf *out)
{
	struct throttle_view throttle;

	if (!throttle_view_next(list->view, &list->place, &throttle))
		return false;
	control_list_append(list, out, json_of_throttle(list->view, &throttle));
	return true;
}

/* ---------- other figures ---------- */

static void refuse_name(
	const struct supervisor_view *view, const struct http_request *request, struct text name)
{
	struct throttle_view throttle;
	struct buf what;
	size_t place = 0;
	const char *before = "; there are: ";

	buf_init(&what, NAMES_LIMIT);
	buf_printf(&what, "no pool uses a throttle \"%.*s\"", TEXT_ARGS(name));
	while (throttle_view_next(view, &place, &throttle)) {
		buf_printf(&what, "%s%s", before, throttle.named->name);
		before = ", ";
	}
	buf_append_byte(&what, '\0');
	control_refuse(request, 404,
		what.failed ? "there is no such throttle" : buf_text(&what).ptr, NULL);
	buf_release(&what);
}

/* 0: it is not given. False: the request was refused. */
static bool read_figures(const struct http_request *request, uint32_t *ret_limit, mtime *ret_period)
{
	const char *limit = http_query(request, "limit"), *period = http_query(request, "period");
	uint64_t number = 0;
	const char *problem = NULL;

	*ret_period = 0;
	if (!limit && !period)
		problem = "limit=N or period=T is needed";
	else if (limit &&
		 (!text_read_decimal(text_from(limit), THROTTLE_LIMIT_MAX, &number) || number == 0))
		problem = "limit is 1 to 1000000";
	else if (period &&
		 (!quantity_read_duration(text_from(period), ret_period) ||
			 *ret_period < CONFIG_PERIOD_MIN || *ret_period > CONFIG_PERIOD_MAX))
		problem = "period is a duration from 1ms to 365d";
	if (problem)
		control_refuse(request, 400, problem, NULL);
	*ret_limit = (uint32_t)number;
	return !problem;
}

static void log_change(const struct named_throttle *named, const struct throttle_figures *before)
{
	const struct throttle_figures *figures = throttle_figures(named->throttle);
	char texts[2][SPAN_SIZE];
	const mtime periods[2] = {figures->period, before->period};

	for (size_t i = 0; i < 2; i++) {
		struct buf text;
		buf_init(&text, SPAN_SIZE);
		quantity_append_duration(&text, periods[i]);
		snprintf(texts[i], SPAN_SIZE, "%.*s", TEXT_ARGS(buf_text(&text)));
		buf_release(&text);
	}
	log_info("throttle %s: %" PRIu32 " in %s by command, was %" PRIu32
		 " in %s; until another figure is configured",
		named->name, figures->limit, texts[0], before->limit, texts[1]);
}

static void answer_one(const struct supervisor_view *view, const struct http_request *request,
	const struct named_throttle *named)
{
	struct throttle_view throttle = view_of(view, named);

	control_answer_json(
		request, 200, json_pack("{s:[o]}", "throttles", json_of_throttle(view, &throttle)));
}

static void set_figures(const struct supervisor_view *view, const struct http_request *request)
{
	struct text name = text_from(request->path + THROTTLES.len);
	struct named_throttle *named = throttles_find(view->throttles, name);
	struct throttle_figures before;
	const char *refusal;
	uint32_t limit;
	mtime period;

	if (!named) {
		refuse_name(view, request, name);
		return;
	}
	if (!read_figures(request, &limit, &period))
		return;
	before = *throttle_figures(named->throttle);
	refusal = throttles_set(view->throttles, named, limit, period);
	if (refusal) {
		control_refuse(request, 409, refusal, NULL);
		return;
	}
	log_change(named, &before);
	answer_one(view, request, named);
}

void control_answer_throttles(
	const struct supervisor_view *view, const struct http_request *request)
{
	if (strcmp(request->method, "POST") == 0)
		set_figures(view, request);
	else
		control_answer_list(view, request,
			(struct control_list){.name = "throttles", .append_next = append_next});
}
