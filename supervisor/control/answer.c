#include "control/answer.h"

#include "os/clock.h"
#include "runtime/report/health_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOLS         TEXT("/v1/pools/")
#define OUT_OF_MEMORY "{\"error\":\"out of memory\"}\n"
#define NAMES_MAX     20
#define NAMES_LIMIT   (64 * 1024)

/* ---------- JSON ---------- */

json_t *control_json_span(mtime span)
{
	return span == MTIME_NEVER ? json_null() : json_real((double)span / MTIME_SECOND);
}

json_t *control_json_until(mtime then)
{
	return control_json_span(
		then == MTIME_NEVER ? MTIME_NEVER : mtime_max(then - clock_now(), 0));
}

json_t *control_json_since(mtime then)
{
	return control_json_span(
		then == MTIME_NEVER ? MTIME_NEVER : mtime_max(clock_now() - then, 0));
}

json_t *control_json_link(struct link_facts facts, bool is_operator)
{
	const char *failure = is_operator ? facts.failure : facts.failure_kind;

	return json_pack("{s:b, s:I, s:o}", "up", facts.is_up, "reconnects",
		(json_int_t)facts.reconnects, "last_failure",
		*failure ? json_text(text_from(failure)) : json_null());
}

json_t *control_json_add_causes(
	json_t *array, const struct health *health, unsigned set, bool with_pool_name)
{
	struct buf text;

	buf_init(&text, SIZE_MAX);
	for (enum health_cause cause = 0; array && cause < HEALTH_CAUSE_COUNT; cause++) {
		if (!health_has(set, cause))
			continue;
		buf_clear(&text);
		if (with_pool_name)
			health_append_named_text(&text, health, cause);
		else
			health_append_text(&text, health, cause);
		if (text.failed || json_array_append_new(array, json_text(buf_text(&text))) != 0) {
			json_decref(array);
			array = NULL;
		}
	}
	buf_release(&text);
	return array;
}

/* ---------- one document ---------- */

static void answer_json(
	const struct http_request *request, unsigned status, json_t *json, const char *allow)
{
	struct buf body;

	buf_init(&body, SIZE_MAX);
	json_append(&body, json);
	buf_append_byte(&body, '\n');
	if (body.failed)
		http_answer(request, 503, CONTROL_JSON_TYPE, TEXT(OUT_OF_MEMORY), NULL);
	else
		http_answer(request, status, CONTROL_JSON_TYPE, buf_text(&body), allow);
	buf_release(&body);
}

void control_answer_json(const struct http_request *request, unsigned status, json_t *json)
{
	answer_json(request, status, json, NULL);
}

void control_refuse(
	const struct http_request *request, unsigned status, const char *what, const char *allow)
{
	answer_json(
		request, status, json_pack("{s:o}", "error", json_text(text_from(what))), allow);
}

bool control_bool_take(struct control_bool *parameter, struct text value)
{
	bool is_true = text_is(value, TEXT("true"));

	if (parameter->is_given || (!is_true && !text_is(value, TEXT("false"))))
		return false;
	*parameter = (struct control_bool){.value = is_true, .is_given = true};
	return true;
}

struct bool_parameter {
	const char *name;
	struct control_bool taken;
	bool is_wrong;
};

static void on_parameter(void *ctx, struct text name, struct text value)
{
	struct bool_parameter *p = ctx;

	if (!text_is(name, text_from(p->name)))
		return;
	p->is_wrong |= !control_bool_take(&p->taken, value);
}

bool control_read_bool(const struct http_request *request, const char *name, bool *ret)
{
	struct bool_parameter parameter = {.name = name};
	char what[80];

	http_each_query(request, on_parameter, &parameter);
	if (parameter.is_wrong) {
		snprintf(what, sizeof what, "%s is true or false", name);
		control_refuse(request, 400, what, NULL);
		return false;
	}
	*ret = parameter.taken.value;
	return true;
}

void control_refuse_memory(const struct http_request *request)
{
	answer_json(request, 503, NULL, NULL);
}

void control_refuse_memory_later(struct http_exchange *exchange, unsigned status)
{
	http_answer_later(exchange, status, CONTROL_JSON_TYPE, TEXT(OUT_OF_MEMORY));
}

/* ---------- pools by name ---------- */

void control_refuse_pool(
	const struct supervisor_view *view, const struct http_request *request, struct text name)
{
	const struct pool_runtime *runtime;
	struct buf what;
	size_t count = 0;

	buf_init(&what, NAMES_LIMIT);
	buf_printf(&what, "there is no pool \"%.*s\"; there are", TEXT_ARGS(name));
	for (size_t i = 0; (runtime = pool_set_next(view->pool_set, &i)); count++)
		if (count < NAMES_MAX)
			buf_printf(&what, "%s%s", count ? ", " : ": ", runtime->config.name);
	if (count > NAMES_MAX)
		buf_printf(&what, " and %zu more", count - NAMES_MAX);
	buf_append_byte(&what, '\0');
	control_refuse(
		request, 404, what.failed ? "there is no such pool" : buf_text(&what).ptr, NULL);
	buf_release(&what);
}

bool control_find_pool(const struct supervisor_view *view, const struct http_request *request,
	struct pool_runtime **ret)
{
	struct text name;

	*ret = NULL;
	if (!text_starts(text_from(request->path), POOLS))
		return true;
	name = text_of(request->path + POOLS.len, strcspn(request->path + POOLS.len, "/"));
	*ret = pool_set_find(view->pool_set, name);
	if (!*ret)
		control_refuse_pool(view, request, name);
	return *ret;
}

bool control_find_pool_of_query(const struct supervisor_view *view,
	const struct http_request *request, uint32_t *ret_serial)
{
	const char *name = http_query(request, "pool");
	const struct pool_runtime *runtime =
		name ? pool_set_find(view->pool_set, text_from(name)) : NULL;

	if (name && !runtime) {
		control_refuse_pool(view, request, text_from(name));
		return false;
	}
	*ret_serial = runtime ? runtime->serial : 0;
	return true;
}

/* ---------- lists ---------- */

static bool on_next(void *ctx, struct buf *out)
{
	struct control_list *list = ctx;

	if (list->has_ended)
		return false;
	if (!list->has_begun) {
		buf_append_byte(out, '{');
		if (list->first) {
			buf_printf(out, "\"%s\":", list->first_name);
			json_append(out, list->first);
			buf_append_text(out, TEXT(",\n"));
			list->first = NULL;
		}
		buf_printf(out, "\"%s\":[\n", list->name);
	}
	list->has_begun = true;
	if (!list->append_next(list, out)) {
		buf_append_text(out, TEXT("\n]}\n"));
		list->has_ended = true;
	}
	return true;
}

static void on_end(void *ctx)
{
	struct control_list *list = ctx;

	json_decref(list->first);
	free(list);
}

static bool has_to_wait(void *ctx)
{
	const struct control_list *list = ctx;

	return !list->has_begun && list->waits(list);
}

static const struct http_pieces pieces = {.next = on_next, .end = on_end};
static const struct http_pieces later_pieces = {
	.next = on_next, .end = on_end, .waits = has_to_wait};

bool control_list_wants(const struct control_list *list, const struct pool_runtime *runtime)
{
	return list->only == 0 || list->only == runtime->serial;
}

void control_list_append(struct control_list *list, struct buf *out, json_t *member)
{
	if (list->has_members)
		buf_append_text(out, TEXT(",\n"));
	list->has_members = true;
	json_append(out, member);
}

void control_answer_list(const struct supervisor_view *view, const struct http_request *request,
	struct control_list list)
{
	struct control_list *copy = malloc(sizeof *copy);

	if (!copy) {
		json_decref(list.first);
		control_refuse_memory(request);
		return;
	}
	*copy = list;
	copy->view = view;
	copy->is_operator = request->is_operator;
	http_answer_in_pieces(
		request, CONTROL_JSON_TYPE, list.waits ? &later_pieces : &pieces, copy);
}

void control_answer_list_of_query(const struct supervisor_view *view,
	const struct http_request *request, struct control_list list)
{
	if (control_find_pool_of_query(view, request, &list.only))
		control_answer_list(view, request, list);
	else
		json_decref(list.first);
}
