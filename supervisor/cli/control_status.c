/* GET /v1/status: the supervisor as a whole. */
#include "cli/control_json.h"
#include "cli/control_routes.h"
#include "cli/health.h"
#include "io/clock.h"
#include "io/usage.h"

#include <unistd.h>

#define REASONS_LIMIT (1024 * 1024)

const char *control_phase_words(enum phase phase)
{
	static const char *const words[] = {
#define X(phase, words) [phase] = words,
		PHASES(X)
#undef X
	};

	return words[phase];
}

static json_t *reasons_of(const struct overview *overview)
{
	struct buf reasons;

	buf_init(&reasons, REASONS_LIMIT);
	health_append_reasons(overview, &reasons);
	return control_json_lines(&reasons);
}

static json_t *warnings_of(const struct overview *overview)
{
	struct buf warnings;

	buf_init(&warnings, REASONS_LIMIT);
	health_append_warnings(overview, &warnings);
	return control_json_lines(&warnings);
}

static json_t *connections(const struct links *links)
{
	return json_pack("{s:o, s:o, s:b}", "consume",
		control_json_link(links_consume_facts(links)), "publish",
		control_json_link(links_publish_facts(links)), "publishes_blocked",
		links->is_blocked);
}

static json_t *own_use(void)
{
	struct usage usage = {0};

	(void)usage_read(getpid(), &usage);
	return json_pack("{s:I, s:o}", "memory_bytes", (json_int_t)usage.memory_bytes, "cpu_s",
		control_json_span(usage.computed));
}

void control_answer_status(const struct overview *overview, const struct http_request *request)
{
	struct buf body;

	buf_init(&body, SIZE_MAX);
	control_json_append(&body,
		json_pack(
			"{s:s, s:i, s:I, s:o, s:s, s:b, s:o, s:o, s:I, s:o, s:o, s:{s:o, s:o}, s:I}",
			"version", WPOOL_VERSION, "pid", (int)getpid(), "started_at",
			(json_int_t)overview->started_wall_s, "uptime_s",
			control_json_span(clock_now() - overview->started), "phase",
			control_phase_words(*overview->phase), "ready", health_is_ready(overview),
			"reasons", reasons_of(overview), "warnings", warnings_of(overview), "pools",
			(json_int_t)fleet_pools(overview->fleet), "connections",
			connections(overview->links), "process", own_use(), "longest_turn",
			"total_s", control_json_span(overview->pulse->longest), "computing_s",
			control_json_span(overview->pulse->longest_computed), "log_lines_lost",
			(json_int_t)log_lost()));
	buf_append_byte(&body, '\n');
	if (body.failed)
		control_refuse(request, 503, "out of memory", NULL);
	else
		http_answer(request, 200, CONTROL_JSON_TYPE, buf_text(&body), NULL);
	buf_release(&body);
}
