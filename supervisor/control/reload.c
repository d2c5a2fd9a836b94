/* POST /v1/reload: reload the configuration; ?dry_run=true: answer what a reload would do. */
#include "runtime/reload.h"
#include "control/answer.h"
#include "control/routes.h"

static json_t *json_of_changes(const struct reload_changes *changes)
{
	json_t *list = json_array();

	for (size_t i = 0; i < changes->count; i++) {
		const struct reload_change *change = &changes->list[i];
		json_t *member = json_pack("{s:s}", "key", change->setting->key);
		if (change->has_values &&
			json_object_update_new(member,
				json_pack("{s:o, s:o}", "from", json_text(buf_text(&change->from)),
					"to", json_text(buf_text(&change->to)))) != 0) {
			json_decref(member);
			member = NULL;
		}
		if (json_array_append_new(list, member) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *json_of_steps(const struct reload_plan *plan)
{
	json_t *list = json_array();

	for (size_t i = 0; i < plan->count; i++) {
		const struct reload_step *step = &plan->steps[i];
		if (json_array_append_new(list,
			    json_pack("{s:o, s:s, s:o}", "name", json_text(text_from(step->name)),
				    "action", reload_action_name(step->action), "settings",
				    json_of_changes(&step->changes))) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *json_of_throttles(const struct reload_plan *plan)
{
	json_t *list = json_array();

	for (size_t i = 0; i < plan->throttle_count; i++) {
		const struct reload_throttle *throttle = &plan->throttles[i];
		if (json_array_append_new(
			    list, json_pack("{s:o, s:s, s:o}", "name",
					  json_text(text_from(throttle->name)), "action",
					  reload_action_name(throttle->action), "settings",
					  json_of_changes(&throttle->changes))) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *json_of_problems(const struct problems *problems)
{
	json_t *list = json_array();

	for (size_t i = 0; i < problems->count; i++)
		if (json_array_append_new(list, json_text(text_from(problems->list[i].message))) !=
			0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static json_t *json_of(const struct reload_outcome *outcome)
{
	switch (outcome->result) {
	case RELOAD_DONE:
		return json_pack("{s:b, s:o, s:o, s:o, s:o, s:o}", "dry_run", outcome->is_dry,
			"pools", json_of_steps(&outcome->plan), "throttles",
			json_of_throttles(&outcome->plan), "settings",
			json_of_changes(&outcome->plan.settings), "needs_restart",
			json_of_changes(&outcome->plan.needs_restart), "warnings",
			json_of_problems(&outcome->problems));
	case RELOAD_REFUSED:
		return json_pack("{s:o}", "error", json_text(text_from(outcome->refusal)));
	case RELOAD_INVALID:
		return json_pack("{s:s, s:o}", "error",
			"the configuration is wrong; nothing has changed", "problems",
			json_of_problems(&outcome->problems));
	case RELOAD_NO_MEMORY:
		break;
	}
	return NULL;
}

void control_answer_reload(const struct supervisor_view *view, const struct http_request *request)
{
	static const unsigned statuses[] = {
		[RELOAD_DONE] = 200,
		[RELOAD_REFUSED] = 409,
		[RELOAD_INVALID] = 422,
		[RELOAD_NO_MEMORY] = 503,
	};
	struct reload_outcome outcome;
	bool is_dry;

	if (!control_read_bool(request, "dry_run", &is_dry))
		return;
	view->reload(view->ctx, "wpool reload", is_dry, &outcome);
	control_answer_json(request, statuses[outcome.result], json_of(&outcome));
	reload_outcome_release(&outcome);
}
