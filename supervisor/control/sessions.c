/* GET /v1/pools/NAME/sessions: the sessions of a pool, made while they are sent. Only on the
 * control socket, because keys come from publishers. */
#include "control/sessions.h"

#include "api/session_verbs.h"
#include "base/json.h"
#include "base/utf8.h"
#include "config/value/quantity.h"
#include "control/routes.h"
#include "core/tasks/delivery.h"
#include "message/key_source.h"
#include "os/clock.h"
#include "runtime/pool_set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define TASKS_MAX 100

/* ---------- what all requests about sessions have ---------- */

static bool has_sessions_before(
	const struct pool_runtime *runtime, const struct pool_runtime *other)
{
	struct session_counts counts = pool_session_counts(runtime->pool),
			      others = pool_session_counts(other->pool);

	if (counts.is_standby != others.is_standby)
		return others.is_standby;
	return counts.remembered > others.remembered;
}

/* While a pool replaces another one of its name, the one that is active has the sessions. */
static struct pool_runtime *find_owner(
	const struct supervisor_view *view, struct pool_runtime *latest)
{
	struct pool_runtime *runtime, *found = latest;

	for (size_t i = 0; (runtime = pool_set_next(view->pool_set, &i));)
		if (runtime->pool_config.session.is_on &&
			strcmp(runtime->config.name, latest->config.name) == 0 &&
			has_sessions_before(runtime, found))
			found = runtime;
	return found;
}

static void refuse_where(
	const struct http_request *request, const struct session_filter_problem *problem)
{
	char text[sizeof problem->text + 64];

	snprintf(text, sizeof text, "where is malformed at position %zu: %s", problem->position,
		problem->text);
	control_answer_json(request, 400,
		json_pack("{s:o, s:I}", "error", json_text(text_from(text)), "position",
			(json_int_t)problem->position));
}

bool session_query_read(const struct supervisor_view *view, const struct http_request *request,
	struct session_query *ret)
{
	struct session_filter_problem problem;
	struct session_filter filter;

	*ret = (struct session_query){
		.key = http_query_text(request, "key"), .where = http_query_text(request, "where")};
	if (!control_find_pool(view, request, &ret->runtime))
		return false;
	if (!ret->runtime->pool_config.session.is_on)
		control_refuse(request, 409,
			"this pool has no sessions: its configuration has no `session`", NULL);
	else if (ret->key.ptr && ret->where.ptr)
		control_refuse(request, 400, "key and where contradict each other", NULL);
	else if (ret->key.ptr &&
		 (!ret->key.len || ret->key.len > SESSION_KEY_MAX || !utf8_is_valid(ret->key)))
		control_refuse(request, 400, "a key is UTF-8 of 1 to 255 bytes", NULL);
	else if (ret->where.ptr && !session_filter_parse(&filter, ret->where, &problem))
		refuse_where(request, &problem);
	else {
		ret->runtime = find_owner(view, ret->runtime);
		return true;
	}
	return false;
}

const char *session_standby_note(const struct pool_runtime *runtime)
{
	return pool_session_counts(runtime->pool).is_standby
		       ? "this supervisor stands by; ask the active one of the queue, which has the "
			 "sessions"
		       : NULL;
}

/* The error is before, the key in quotation marks, and after. */
static void refuse(const struct http_request *request, unsigned status, const char *before,
	struct text key, const char *after)
{
	struct buf text;

	buf_init(&text, SIZE_MAX);
	buf_printf(&text, "%s \"", before);
	buf_append_text(&text, key);
	buf_printf(&text, "\"%s", after);
	control_answer_json(
		request, status, json_pack("{s:o}", "error", json_text(buf_text(&text))));
	buf_release(&text);
}

void session_refuse_unknown(const struct http_request *request, const struct session_query *query)
{
	if (session_standby_note(query->runtime))
		control_refuse(request, 404, session_standby_note(query->runtime), NULL);
	else
		refuse(request, 404, "this pool has no session", query->key, " now");
}

void session_refuse_command(
	const struct http_request *request, struct text key, const char *refusal)
{
	char after[128];

	snprintf(after, sizeof after, ": %s", refusal);
	refuse(request, 409, "session", key, after);
}

/* ---------- a session as JSON ---------- */

/* Written by hand: there may be a hundred thousand. */
static void append_span(struct buf *out, const char *name, mtime span)
{
	if (span == MTIME_NEVER)
		buf_printf(out, ",\"%s\":null", name);
	else
		buf_printf(out, ",\"%s\":%.6f", name, (double)span / MTIME_SECOND);
}

struct tasks {
	struct buf *out;
	uint32_t front_attempts;
	unsigned count;
};

static bool append_task(void *ctx, const struct delivery *task, bool is_front)
{
	struct tasks *tasks = ctx;
	char name[DELIVERY_NAME_SIZE];

	if (tasks->count == TASKS_MAX)
		return false;
	buf_printf(tasks->out, "%s{\"id\":", tasks->count++ ? "," : "");
	if (task->id)
		buf_printf(tasks->out, "%" PRIu64, task->id);
	else
		buf_append_text(tasks->out, TEXT("null"));
	buf_append_text(tasks->out, TEXT(",\"name\":"));
	json_append_string(tasks->out, delivery_name(task, name));
	buf_printf(tasks->out, ",\"lane\":\"%s\",\"attempts\":%u,\"front\":%s}",
		task->is_high ? "high" : "normal", is_front ? tasks->front_attempts : task->attempt,
		is_front ? "true" : "false");
	return true;
}

/* What operators have ordered and is not over, as the names of the verbs. A session that is to end
 * may be paused, too. */
static void append_orders(struct buf *out, const struct session_facts *facts)
{
	static const enum api_session_verb_id orders[] = {
		[SESSION_END_DRAINED] = API_SESSION_DRAIN,
		[SESSION_END_CLOSED] = API_SESSION_CLOSE,
		[SESSION_END_ABORTED] = API_SESSION_ABORT,
	};

	buf_append_text(out, TEXT(",\"orders\":["));
	if (facts->is_ending)
		buf_printf(out, "\"%s\"", api_session_verbs[orders[facts->ending]].name);
	if (facts->is_paused)
		buf_printf(out, "%s\"%s\"", facts->is_ending ? "," : "",
			api_session_verbs[API_SESSION_PAUSE].name);
	buf_append_byte(out, ']');
}

static void append_session(
	struct buf *out, const struct pool *pool, const struct session_facts *facts, bool has_tasks)
{
	struct tasks tasks = {.out = out, .front_attempts = facts->attempts};
	mtime now = clock_now();

	buf_append_text(out, TEXT("{\"key\":"));
	json_append_string(out, facts->key);
	buf_printf(out, ",\"state\":\"%s\"", session_state_name(facts->state));
	append_span(out, "for_s", mtime_max(now - facts->since, 0));
	append_span(out, "due_s",
		facts->due == MTIME_NEVER ? MTIME_NEVER : mtime_max(facts->due - now, 0));
	if (facts->reason == REASON_NONE)
		buf_append_text(out, TEXT(",\"reason\":null"));
	else
		buf_printf(out, ",\"reason\":\"%s\"", reason_name(facts->reason));
	buf_printf(out, ",\"attempts\":%u,\"backlog\":%u,\"high\":%u,\"normal\":%u",
		facts->attempts, facts->high + facts->normal, facts->high, facts->normal);
	append_orders(out, facts);
	if (has_tasks) {
		buf_append_text(out, TEXT(",\"tasks\":["));
		pool_session_tasks(pool, facts->number, append_task, &tasks);
		buf_append_byte(out, ']');
	}
	buf_append_byte(out, '}');
}

/* ---------- the list ---------- */

struct list {
	struct session_walk walk;
	uint64_t found, limit;
	const char *note; /* static, or NULL */
	bool counts;      /* only their number is wanted */
	bool has_tasks;
	bool has_begun, has_ended;
};

static void append_end(struct list *list, struct buf *out, bool has_more)
{
	if (list->counts)
		buf_printf(out, "{\"count\":%" PRIu64, list->found);
	else
		buf_printf(out, "\n],\"more\":%s", has_more ? "true" : "false");
	if (list->note)
		buf_printf(out, ",\"note\":\"%s\"", list->note);
	buf_append_text(out, TEXT("}\n"));
	list->has_ended = true;
}

static void append_found(struct list *list, struct buf *out, const struct session_facts *facts)
{
	if (!list->counts) {
		buf_append_text(out, list->found ? TEXT(",\n") : TEXT("\n"));
		append_session(out, session_walk_pool(&list->walk)->pool, facts, list->has_tasks);
	}
	list->found++;
}

static bool append_next(void *ctx, struct buf *out)
{
	struct list *list = ctx;
	struct session_facts facts;

	if (list->has_ended)
		return false;
	if (!list->has_begun && !list->counts)
		buf_append_text(out, TEXT("{\"sessions\":["));
	list->has_begun = true;
	switch (session_walk_next(&list->walk, &facts)) {
	case SESSION_WALK_FOUND:
		if (!list->counts && list->found == list->limit)
			append_end(list, out, true);
		else
			append_found(list, out, &facts);
		break;
	case SESSION_WALK_MORE:
		break;
	case SESSION_WALK_END:
		append_end(list, out, false);
		break;
	}
	return true;
}

static void list_free(void *ctx)
{
	struct list *list = ctx;

	session_walk_release(&list->walk);
	free(list);
}

/* It never waits, but a hundred thousand sessions may take longer than an answer usually may. */
static bool has_to_wait(void *ctx)
{
	(void)ctx;
	return false;
}

static const struct http_pieces pieces = {
	.next = append_next, .end = list_free, .waits = has_to_wait};

/* ---------- the request ---------- */

static void answer_one(const struct http_request *request, const struct session_query *query,
	bool counts, bool has_tasks)
{
	const struct pool *pool = query->runtime->pool;
	struct session_facts facts;
	struct buf out;

	if (!pool_session_find(pool, query->key, &facts)) {
		session_refuse_unknown(request, query);
		return;
	}
	buf_init(&out, SIZE_MAX);
	if (counts) {
		buf_append_text(&out, TEXT("{\"count\":1}\n"));
	} else {
		buf_append_text(&out, TEXT("{\"sessions\":[\n"));
		append_session(&out, pool, &facts, has_tasks);
		buf_append_text(&out, TEXT("\n],\"more\":false}\n"));
	}
	if (out.failed)
		control_refuse_memory(request);
	else
		http_answer(request, 200, CONTROL_JSON_TYPE, buf_text(&out), NULL);
	buf_release(&out);
}

void control_answer_sessions(const struct supervisor_view *view, const struct http_request *request)
{
	const char *limit = http_query(request, "limit");
	struct session_query query;
	uint64_t number = UINT64_MAX;
	struct list *list;
	bool counts, has_tasks;

	if (!session_query_read(view, request, &query) ||
		!control_read_bool(request, "count", &counts) ||
		!control_read_bool(request, "tasks", &has_tasks))
		return;
	if (limit && !text_read_decimal(text_from(limit), UINT64_MAX, &number)) {
		control_refuse(request, 400, "limit is a number from 0", NULL);
		return;
	}
	if (query.key.len > 0) {
		answer_one(request, &query, counts, has_tasks);
		return;
	}
	if (http_waiting_answers(request) >= CONTROL_WAITERS) {
		control_refuse(request, 503, CONTROL_CROWDED, NULL);
		return;
	}
	list = calloc(1, sizeof *list);
	if (!list || session_walk_init(&list->walk, view, query.runtime, query.where) != RC_OK) {
		free(list);
		control_refuse_memory(request);
		return;
	}
	list->limit = number;
	list->note = session_standby_note(query.runtime);
	list->counts = counts;
	list->has_tasks = has_tasks;
	http_answer_in_pieces(request, CONTROL_JSON_TYPE, &pieces, list);
}
