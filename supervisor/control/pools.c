/* GET /v1/pools: each pool, its state, figures, and what is wrong with it. With ?status=true the
 * status of the supervisor comes first, as a member of its own. */
#include "control/answer.h"
#include "control/figures.h"
#include "control/routes.h"
#include "os/clock.h"
#include "runtime/report/texts.h"

/* null: there was none. */
static json_t *json_of_change(const struct scaling *scaling)
{
	static const char *const causes[] = {
#define X(cause, text) [cause] = text,
		SCALING_CAUSES(X)
#undef X
	};
	char why[SCALING_TEXT_SIZE];

	if (scaling->cause == SCALING_NONE)
		return json_null();
	return json_pack("{s:s, s:s, s:i, s:i, s:o}", "cause", causes[scaling->cause], "why",
		scaling_text(scaling, why), "from", scaling->before, "to", scaling->after, "age_s",
		control_json_since(scaling->at));
}

/* Only operators get a text of the worker: it may contain parts of a message. */
static json_t *json_of_worker_text(const char *text, bool is_operator)
{
	return is_operator && *text ? json_text(text_from(text)) : json_null();
}

/* null: none died */
static json_t *json_of_death(const struct last_death *death, bool is_operator)
{
	char exit[EXIT_TEXT_SIZE];

	if (death->exit.kind == EXIT_NONE)
		return json_null();
	return json_pack("{s:s, s:o, s:o, s:o}", "exit", exit_text(&death->exit, death->why, exit),
		"detail", json_of_worker_text(death->detail, is_operator), "age_s",
		control_json_since(death->at), "stderr",
		json_of_worker_text(death->stderr_line, is_operator));
}

/* null: the last restart was not given up */
static json_t *json_of_failed_restart(const struct pool_runtime *runtime, bool is_operator)
{
	const struct failed_restart *restart = &runtime->report.statistics.failed_restart;
	char why[RESTART_TEXT_SIZE];

	if (!restart->why)
		return json_null();
	restart_text(restart, is_operator ? runtime->report.command : NULL, why);
	return json_pack("{s:o, s:o}", "why", json_text(text_from(why)), "age_s",
		control_json_since(restart->at));
}

/* A standby knows of the holder only what it has seen itself. The name comes from a message, so
 * only operators get it. */
static json_t *json_of_token(const struct pool_runtime *runtime, bool is_operator)
{
	struct token_facts token = pool_token_facts(&runtime->token);

	if (!runtime->token.channel)
		return json_null();
	return json_pack("{s:s, s:o, s:I, s:I, s:o}", "state", token_state_name(token.state),
		"holder",
		is_operator && token.holder.len > 0 ? json_text(token.holder) : json_null(),
		"epoch", (json_int_t)token.epoch, "deaths", (json_int_t)token.deaths, "renewed_s",
		token.is_held ? control_json_span(mtime_max(clock_boot() - token.renewed_at, 0))
			      : json_null());
}

/* What only a pool with sessions has. */
static bool set_session_members(
	const struct control_list *list, const struct pool_runtime *runtime, json_t *pool)
{
	enum queue_order order = consumer_order(runtime->consumer);

	return !runtime->pool_config.session.is_on ||
	       (json_object_set_new(pool, "session_key",
			json_text(text_from(runtime->config.session.key))) == 0 &&
		       json_object_set_new(
			       pool, "token", json_of_token(runtime, list->is_operator)) == 0 &&
		       json_object_set_new(pool, "order", json_string(queue_order_name(order))) ==
			       0);
}

/* What only a pool with throttles has. */
static bool set_throttle_members(const struct pool_view *p, json_t *pool)
{
	const struct pool_config *config = &p->runtime->pool_config;
	const char *by = p->facts.throttled_by;
	json_t *names;

	if (config->throttle_count == 0)
		return true;
	names = json_array();
	if (json_object_set_new(pool, "throttles", names) != 0)
		return false;
	for (uint8_t i = 0; i < config->throttle_count; i++)
		if (json_array_append_new(names, json_text(text_from(config->throttles[i].name))) !=
			0)
			return false;
	return json_object_set_new(
		       pool, "throttled_by", by ? json_text(text_from(by)) : json_null()) == 0;
}

static json_t *json_of_pool(const struct control_list *list, const struct pool_runtime *runtime)
{
	const struct config_pool *config = &runtime->config;
	struct health health = health_of_pool(runtime);
	struct pool_view p = pool_view_of(runtime);
	struct text dead_letter = runtime->publisher_config.dead_letter;
	if (!list->is_operator)
		health_hide_details(&health);
	json_t *pool = json_pack(
		"{s:o, s:I, s:o, s:o, s:s, s:s, s:o, s:s, s:b, s:o, s:o, s:o, s:o, s:o}", "name",
		json_text(text_from(config->name)), "serial", (json_int_t)runtime->serial, "queue",
		json_text(text_from(config->queue)), "dead_letter_queue",
		dead_letter.len > 0 ? json_text(dead_letter) : json_null(), "queue_type",
		queue_type_name(pool_runtime_queue_type(runtime)), "queue_durable",
		queue_durability_name(pool_runtime_queue_durability(runtime)), "program",
		json_text(text_from(config_pool_program(config)[0])), "state",
		pool_runtime_state_name(runtime), "ready", health.causes == 0, "connection",
		control_json_link(consume_link_facts(runtime->consume_link), list->is_operator),
		"reasons", control_json_add_causes(json_array(), &health, health.causes, false),
		"warnings", control_json_add_causes(json_array(), &health, health.warnings, false),
		"last_death", json_of_death(&p.statistics->last_death, list->is_operator),
		"restart_given_up", json_of_failed_restart(runtime, list->is_operator));

	if (pool && figures_set_members(&p, pool) && set_session_members(list, runtime, pool) &&
		set_throttle_members(&p, pool) &&
		json_object_set_new(json_object_get(pool, "workers"), "last_change",
			json_of_change(&p.facts.scaling)) == 0)
		return pool;
	json_decref(pool);
	return NULL;
}

static bool append_next(struct control_list *list, struct buf *out)
{
	const struct pool_runtime *runtime = pool_set_next(list->view->pool_set, &list->place);

	if (runtime && control_list_wants(list, runtime))
		control_list_append(list, out, json_of_pool(list, runtime));
	return runtime;
}

void control_answer_pools(const struct supervisor_view *view, const struct http_request *request)
{
	bool has_status;

	if (!control_read_bool(request, "status", &has_status))
		return;
	control_answer_list_of_query(view, request,
		(struct control_list){.name = "pools",
			.append_next = append_next,
			.first =
				has_status ? control_json_status(view, request->is_operator) : NULL,
			.first_name = "status"});
}

void control_answer_pools_only(const struct supervisor_view *view,
	const struct http_request *request, uint32_t only,
	bool (*waits)(const struct control_list *))
{
	control_answer_list(view, request,
		(struct control_list){
			.name = "pools", .append_next = append_next, .waits = waits, .only = only});
}
