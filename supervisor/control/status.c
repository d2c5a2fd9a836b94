/* GET /v1/status: the state of the supervisor. */
#include "control/access.h"
#include "control/answer.h"
#include "control/routes.h"
#include "os/proc_usage.h"

#include <unistd.h>

/* The warnings, or the reasons. */
static json_t *texts_of(const struct supervisor_view *view, bool warnings, bool is_operator)
{
	struct health_walk walk = {0};
	json_t *texts = json_array();

	while (health_next(view, &walk)) {
		if (!is_operator)
			health_hide_details(&walk.health);
		texts = control_json_add_causes(texts, &walk.health,
			warnings ? walk.health.warnings : walk.health.causes, true);
	}
	return texts;
}

json_t *control_json_status(const struct supervisor_view *view, bool is_operator)
{
	struct proc_usage usage = {0};

	(void)proc_usage_read(getpid(), &usage);
	return json_pack("{s:s, s:i, s:I, s:o, s:s, s:b, s:o, s:o, s:I, s:{s:o, s:o, s:b}, "
			 "s:{s:I, s:o}, s:{s:o, s:o}, s:I, s:s, s:o, s:s}",
		"version", WPOOL_VERSION, "pid", (int)getpid(), "started_at",
		(json_int_t)view->started_wall_s, "uptime_s", control_json_since(view->started),
		"phase", phase_name(*view->phase), "ready", health_is_ready(view), "reasons",
		texts_of(view, false, is_operator), "warnings", texts_of(view, true, is_operator),
		"pools", (json_int_t)pool_set_pools(view->pool_set), "connections", "consume",
		control_json_link(broker_links_consume_facts(view->broker_links), is_operator),
		"publish",
		control_json_link(broker_links_publish_facts(view->broker_links), is_operator),
		"publishes_blocked", view->broker_links->is_blocked, "process", "memory_bytes",
		(json_int_t)usage.memory_bytes, "cpu_s", control_json_span(usage.computed),
		"longest_turn", "total_s", control_json_span(view->pulse->longest), "computing_s",
		control_json_span(view->pulse->longest_computed), "log_lines_lost",
		(json_int_t)log_lost(), "access", access_name(view, is_operator), "configuration",
		is_operator && view->configuration ? json_text(text_from(view->configuration))
						   : json_null(),
		"broker_address", view->config->hosts_from);
}

void control_answer_status(const struct supervisor_view *view, const struct http_request *request)
{
	control_answer_json(request, 200, control_json_status(view, request->is_operator));
}
