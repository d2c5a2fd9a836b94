/* POST /v1/VERB, /v1/pools/NAME/VERB: what operators ask of a pool, or of all pools
 * (api/verbs.def). Each ID_pool returns why the pool refuses, or NULL. */
#include "api/verbs.h"

#include "config/value/quantity.h"
#include "control/answer.h"
#include "control/routes.h"
#include "os/clock.h"

#include <string.h>

/* What a request asks for. */
struct asked {
	const struct http_request *request;
	uint64_t slot, task; /* for the verbs that take them; task 0: none is named */
	bool gives_up;
};

static bool read_task_id(const struct http_request *request, uint64_t *ret)
{
	const char *id = http_query(request, "task");

	return id && text_read_decimal(text_from(id), UINT64_MAX, ret) && *ret > 0;
}

static bool read_slot(const struct http_request *request, uint64_t *ret)
{
	const char *slot = http_query(request, "slot");

	return slot && text_read_decimal(text_from(slot), UINT16_MAX, ret);
}

static const char *pause_pool(struct pool_runtime *runtime, const struct asked *asked)
{
	(void)asked;
	return pool_runtime_command(runtime, COMMAND_PAUSE, 0, clock_now());
}

static const char *resume_pool(struct pool_runtime *runtime, const struct asked *asked)
{
	(void)asked;
	return pool_runtime_command(runtime, COMMAND_RESUME, 0, clock_now());
}

static const char *restart_pool(struct pool_runtime *runtime, const struct asked *asked)
{
	(void)asked;
	return pool_runtime_command(runtime, COMMAND_RESTART, 0, clock_now());
}

/* ?workers=8, 2..32 or auto. For anything else 0 is passed on, which the pool refuses. */
static const char *scale_pool(struct pool_runtime *runtime, const struct asked *asked)
{
	const char *workers = http_query(asked->request, "workers");
	int64_t min = 0, max = 0;

	if (workers && strcmp(workers, "auto") == 0)
		return pool_runtime_scale_as_configured(runtime, clock_now());
	if (!workers || !quantity_read_range(text_from(workers), &min, &max) || min < 1 ||
		max < 1 || min > UINT32_MAX || max > UINT32_MAX)
		min = max = 0;
	return pool_runtime_scale(runtime, (uint32_t)min, (uint32_t)max, clock_now());
}

/* ?task=4711, which the pool has. */
static const char *cancel_pool(struct pool_runtime *runtime, const struct asked *asked)
{
	return pool_runtime_cancel(runtime, asked->task, clock_now());
}

/* ?slot=3&task=4711&give_up=true */
static const char *kill_pool(struct pool_runtime *runtime, const struct asked *asked)
{
	return pool_runtime_kill(
		runtime, (uint16_t)asked->slot, asked->task, asked->gives_up, clock_now());
}

static const char *(*const actions[API_VERB_COUNT])(struct pool_runtime *, const struct asked *) = {
#define POOL_VERB(id, ...) [API_VERB_##id] = id##_pool,
#include "api/verbs.def"
};

/* Ask one pool, or each that does not drain, and return the first refusal. One that works until its
 * successor is ready may have to do the same; its own refusal does not matter. */
static const char *apply_verb(const struct supervisor_view *view, const struct api_verb *verb,
	const struct pool_runtime *only, const struct asked *asked)
{
	const char *refusal = NULL;
	struct pool_runtime *runtime;

	for (size_t i = 0; (runtime = pool_set_next(view->pool_set, &i));) {
		bool is_draining = runtime->is_draining;
		bool is_addressed = only ? runtime == only : !is_draining;
		bool is_replaced = only && runtime != only && !is_draining &&
				   strcmp(runtime->config.name, only->config.name) == 0;
		const char *one = is_addressed || (verb->covers_replaced && is_replaced)
					  ? actions[verb - api_verbs](runtime, asked)
					  : NULL;
		if (is_addressed && !refusal)
			refusal = one;
	}
	return refusal;
}

/* Replace *only by the pool of the same name that has the task: its successor may have the name
 * now. False: there is none, and the request was refused. */
static bool find_task(
	const struct supervisor_view *view, struct asked *asked, struct pool_runtime **only)
{
	const struct http_request *request = asked->request;
	struct pool_runtime *runtime;

	if (!read_task_id(request, &asked->task)) {
		control_refuse(request, 400, "task=ID is needed: a number from 1", NULL);
		return false;
	}
	for (size_t i = 0; (runtime = pool_set_next(view->pool_set, &i));) {
		if (strcmp(runtime->config.name, (*only)->config.name) != 0 ||
			!pool_has_task(runtime->pool, asked->task))
			continue;
		*only = runtime;
		return true;
	}
	control_refuse(request, 404,
		"no worker of this pool has a task with this id: it may have been answered", NULL);
	return false;
}

/* True: a pool of the same name still works, or drains. */
static bool is_replacing(const struct supervisor_view *view, const struct pool_runtime *only)
{
	const struct pool_runtime *runtime;

	for (size_t i = 0; (runtime = pool_set_next(view->pool_set, &i));)
		if (runtime != only && strcmp(runtime->config.name, only->config.name) == 0)
			return true;
	return false;
}

/* The same for the slot of a worker; a task may be named, too. */
static bool find_worker(
	const struct supervisor_view *view, struct asked *asked, struct pool_runtime **only)
{
	const struct http_request *request = asked->request;

	if (!read_slot(request, &asked->slot)) {
		control_refuse(request, 400, "slot=N is needed: a number from 0", NULL);
		return false;
	}
	if (!control_read_bool(request, "give_up", &asked->gives_up))
		return false;
	if (http_query(request, "task"))
		return find_task(view, asked, only);
	if (!is_replacing(view, *only))
		return true;
	control_refuse(request, 409,
		"the pool is being replaced by another one of its name, which has slots of its own: "
		"name the task",
		NULL);
	return false;
}

/* Of the workers that are replaced: a pool that ends, or that another one replaces, does not do it
 * any more. */
static bool is_restarting(const struct control_list *list)
{
	const struct supervisor_view *view = list->view;
	const struct pool_runtime *runtime;

	for (size_t i = 0; (runtime = pool_set_next(view->pool_set, &i));)
		if (control_list_wants(list, runtime) && !pool_runtime_is_retiring(runtime) &&
			pool_facts(runtime->pool).is_rolling)
			return *view->phase == SERVING;
	return false;
}

/* False: it was refused. */
static bool read_wait(
	const struct http_request *request, const struct api_verb *verb, bool *ret_waits)
{
	if (!verb->wait) {
		*ret_waits = false;
		return true;
	}
	if (!control_read_bool(request, "wait", ret_waits))
		return false;
	if (!*ret_waits || http_waiting_answers(request) < CONTROL_WAITERS)
		return true;
	control_refuse(request, 503, CONTROL_CROWDED, NULL);
	return false;
}

/* The answer has the pools as GET /v1/pools has them. */
void control_answer_verb(const struct supervisor_view *view, const struct http_request *request)
{
	const struct api_verb *verb = api_verb_find(text_from(strrchr(request->path, '/') + 1));
	struct asked asked = {.request = request};
	struct pool_runtime *only;
	const char *refusal;
	bool waits;

	if (!control_find_pool(view, request, &only) || !read_wait(request, verb, &waits) ||
		(verb->takes_task && !find_task(view, &asked, &only)))
		return;
	if (verb->takes_slot && !find_worker(view, &asked, &only))
		return;
	refusal = apply_verb(view, verb, only, &asked);
	if (refusal)
		control_refuse(request, 409, refusal, NULL);
	else
		control_answer_pools_only(
			view, request, only ? only->serial : 0, waits ? is_restarting : NULL);
}
