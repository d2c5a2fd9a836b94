/* GET /v1/history: what all pools together, and each pool, did in each of the last 900 seconds. */
#include "control/answer.h"
#include "control/routes.h"
#include "os/clock.h"

/* Append [back, in, done, retried, p50, p95, p99]. */
static int append_second(json_t *seconds, uint32_t back, const struct history_second *second)
{
	json_t *json = json_pack("[I, I, I, I]", (json_int_t)back, (json_int_t)second->in,
		(json_int_t)second->done, (json_int_t)second->retried);
	const float times[] = {second->p50, second->p95, second->p99};

	for (size_t i = 0; json && i < sizeof times / sizeof *times; i++)
		json_array_append_new(json,
			second->timed
				? control_json_span((mtime)((double)times[i] * MTIME_SECOND + 0.5))
				: json_null());
	return json_array_append_new(seconds, json);
}

/* Seconds in which nothing was done are left out. */
static json_t *json_of_seconds(const struct history *history)
{
	json_t *seconds = json_array();

	for (uint32_t back = history->count; seconds && back-- > 0;) {
		const struct history_second *second = history_back(history, back);
		bool is_silent = !second->in && !second->done && !second->retried && !second->timed;
		if (!is_silent && append_second(seconds, back, second) != 0) {
			json_decref(seconds);
			seconds = NULL;
		}
	}
	return seconds;
}

/* pool moves in. serial: 0 for all together. */
static json_t *json_of_history(const struct history *history, json_t *pool, uint32_t serial)
{
	mtime age = clock_boot() - history->open * MTIME_SECOND;

	return json_pack("{s:o, s:I, s:o, s:I, s:o}", "pool", pool, "serial", (json_int_t)serial,
		"age_s", history->count ? control_json_span(mtime_max(age, 0)) : json_null(),
		"kept", (json_int_t)history->count, "seconds", json_of_seconds(history));
}

/* All pools together come first. */
static bool append_next(struct control_list *list, struct buf *out)
{
	const struct pool_runtime *runtime;

	if (list->only == 0 && !list->has_members) {
		control_list_append(
			list, out, json_of_history(&list->view->pool_set->history, json_null(), 0));
		return true;
	}
	runtime = pool_set_next(list->view->pool_set, &list->place);
	if (runtime && control_list_wants(list, runtime))
		control_list_append(list, out,
			json_of_history(&runtime->history,
				json_text(text_from(runtime->config.name)), runtime->serial));
	return runtime;
}

void control_answer_history(const struct supervisor_view *view, const struct http_request *request)
{
	control_answer_list_of_query(view, request,
		(struct control_list){.name = "history", .append_next = append_next});
}
