/* POST /v1/pools/NAME/sessions/VERB: what operators ask of one session, by its key, or of all that
 * match an expression (api/session_verbs.def). The latter are given the command a few at a time, so
 * that many make no long turn. */
#include "api/session_verbs.h"

#include "control/routes.h"
#include "control/sessions.h"
#include "control/sessions/session_waits.h"
#include "core/tasks/delivery.h"
#include "message/key_source.h"
#include "os/clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define X(id, name) _Static_assert((int)API_SESSION_##id == (int)SESSION_VERB_##id, "one order");
SESSION_VERBS(X)
#undef X

/* A command while it is given to sessions. */
struct order {
	const struct api_session_verb *verb;
	enum session_queued queued;
	bool waits;
	struct session_walk walk; /* of the pool; for one key it is at its end */
	struct session_waits waited;
	bool has_failed; /* one could not be waited for: out of memory */
	uint64_t sessions, tasks, refused;
	const char *refusal; /* the first one; static */
	bool is_given;       /* to all sessions */
	bool has_ended;
};

/* ---------- one session ---------- */

/* Tasks in hand that no worker has. */
static uint32_t queued_tasks(const struct session_facts *facts)
{
	bool is_front_queued = facts->front && facts->state != SESSION_RUNNING;

	return facts->high + facts->normal + is_front_queued;
}

/* facts: NULL: there is no session yet. The key is copied, because the session may end. Return why
 * it was refused, or NULL. */
static const char *give_order(struct order *order, struct pool_runtime *runtime, struct text key,
	const struct session_facts *facts)
{
	enum session_verb verb = (enum session_verb)(order->verb - api_session_verbs);
	struct session_wait wait = {.life = facts ? facts->life : 0};
	uint32_t tasks = facts ? queued_tasks(facts) : 0;
	char copy[SESSION_KEY_MAX];
	const char *refusal;

	memcpy(copy, key.ptr, key.len);
	key.ptr = copy;
	refusal = pool_runtime_session_command(runtime, verb, order->queued, key, clock_now());
	if (refusal) {
		order->refused++;
		order->refusal = order->refusal ? order->refusal : refusal;
		return refusal;
	}
	order->sessions++;
	order->tasks += tasks;
	wait.key = key;
	if (order->waits && !session_waits_push(&order->waited, &wait))
		order->has_failed = true;
	return NULL;
}

/* One line, for however many. */
static void log_order(const struct order *order, const struct pool_runtime *runtime)
{
	log_line(LOG_INFO, (struct log_origin){.pool = runtime->config.name, .slot = -1},
		"%s by command: %" PRIu64 " session%s; %" PRIu64 " refused", order->verb->name,
		order->sessions, order->sessions == 1 ? "" : "s", order->refused);
}

/* ---------- waiting ---------- */

/* False: the session has ended or, after a pause, none of its tasks runs. */
static bool is_unfinished(
	const struct order *order, const struct pool *pool, const struct session_wait *wait)
{
	struct session_facts facts;

	if (!pool_session_find(pool, wait->key, &facts))
		return false;
	if (order->verb->begins)
		return facts.state == SESSION_RUNNING;
	return facts.life == wait->life;
}

/* Forget sessions that have finished, from the last one on. True: one has not. */
static bool has_unfinished(struct order *order)
{
	const struct pool_runtime *runtime = session_walk_pool(&order->walk);
	struct session_wait wait;

	if (!runtime)
		session_waits_clear(&order->waited);
	while (session_waits_top(&order->waited, &wait)) {
		if (is_unfinished(order, runtime->pool, &wait))
			return true;
		session_waits_pop(&order->waited);
	}
	return false;
}

/* ---------- the answer ---------- */

static json_t *json_of_order(const struct order *order)
{
	json_t *json = json_pack("{s:I, s:I, s:s?}", "sessions", (json_int_t)order->sessions,
		"refused", (json_int_t)order->refused, "refusal", order->refusal);

	if (order->verb->is_about_queued && json)
		json_object_update_new(json,
			json_pack("{s:I, s:s}", "queued", (json_int_t)order->tasks, "note",
				"queued are the tasks in hand; the broker may hold more of these "
				"sessions, which open their next lives"));
	return json;
}

static bool has_to_wait(void *ctx)
{
	struct order *order = ctx;

	return order->is_given && has_unfinished(order);
}

static bool append_next(void *ctx, struct buf *out)
{
	struct order *order = ctx;
	struct session_facts facts;

	if (order->has_ended)
		return false;
	if (order->is_given) {
		json_append(out, json_of_order(order));
		buf_append_byte(out, '\n');
		out->failed |= order->has_failed;
		order->has_ended = true;
		return true;
	}
	switch (session_walk_next(&order->walk, &facts)) {
	case SESSION_WALK_FOUND:
		give_order(order, session_walk_pool(&order->walk), facts.key, &facts);
		break;
	case SESSION_WALK_MORE:
		break;
	case SESSION_WALK_END:
		order->is_given = true;
		if (session_walk_pool(&order->walk))
			log_order(order, session_walk_pool(&order->walk));
		break;
	}
	return true;
}

static void order_free(void *ctx)
{
	struct order *order = ctx;

	if (!order)
		return;
	session_walk_release(&order->walk);
	session_waits_release(&order->waited);
	free(order);
}

/* With .waits its time is not limited, also while it is given to many sessions. */
static const struct http_pieces pieces = {
	.next = append_next, .end = order_free, .waits = has_to_wait};

/* ---------- the request ---------- */

/* False: the request was refused. */
static bool read_queued(const struct http_request *request, const struct api_session_verb *verb,
	enum session_queued *ret)
{
	const char *queued = http_query(request, "queued");
	size_t index = queued ? text_index(text_from(queued), api_session_queued) : 0;

	if (verb->takes_queued && (!queued || !api_session_queued[index])) {
		control_refuse(request, 400,
			"queued=dead-letter, queued=discard or queued=keep is needed: where the "
			"queued tasks go",
			NULL);
		return false;
	}
	if (!verb->takes_queued && queued) {
		control_refuse(request, 400, "queued is for close and abort", NULL);
		return false;
	}
	*ret = (enum session_queued)index;
	return true;
}

/* NULL: out of memory. */
static struct order *order_new(const struct supervisor_view *view,
	const struct session_query *query, const struct order *wanted)
{
	struct order *order = malloc(sizeof *order);

	if (!order)
		return NULL;
	*order = *wanted;
	session_waits_init(&order->waited, SIZE_MAX);
	if (session_walk_init(&order->walk, view, query->runtime, query->where) == RC_OK)
		return order;
	free(order);
	return NULL;
}

/* False: it was refused. */
static bool give_one(
	const struct http_request *request, struct order *order, const struct session_query *query)
{
	struct session_facts facts;
	bool is_there = pool_session_find(query->runtime->pool, query->key, &facts);
	const char *refusal;

	if (!is_there && !order->verb->begins) {
		session_refuse_unknown(request, query);
		return false;
	}
	refusal = give_order(order, query->runtime, query->key, is_there ? &facts : NULL);
	if (refusal)
		session_refuse_command(request, query->key, refusal);
	log_order(order, query->runtime);
	order->is_given = true;
	return !refusal;
}

void control_answer_session_verb(
	const struct supervisor_view *view, const struct http_request *request)
{
	struct text name = text_from(strrchr(request->path, '/') + 1);
	struct order *order, wanted = {.verb = api_session_verb_find(name)};
	struct session_query query;
	const char *standby;

	if (!session_query_read(view, request, &query) ||
		!control_read_bool(request, "wait", &wanted.waits) ||
		!read_queued(request, wanted.verb, &wanted.queued))
		return;
	wanted.waits = wanted.waits && wanted.verb->wait;
	if (!query.key.len && !query.where.len) {
		control_refuse(request, 400, "key or where is needed", NULL);
		return;
	}
	standby = session_standby_note(query.runtime);
	if (standby) {
		control_refuse(request, 409, standby, NULL);
		return;
	}
	if (http_waiting_answers(request) >= CONTROL_WAITERS) {
		control_refuse(request, 503, CONTROL_CROWDED, NULL);
		return;
	}
	order = order_new(view, &query, &wanted);
	if (!order)
		control_refuse_memory(request);
	else if (query.key.len > 0 && !give_one(request, order, &query))
		order_free(order);
	else
		http_answer_in_pieces(request, CONTROL_JSON_TYPE, &pieces, order);
}
