/* GET /v1/log-level, POST /v1/log-level?level=LEVEL, POST /v1/pools/NAME/log-level?level=LEVEL: the
 * lowest level that is logged, of all or of one pool. */
#include "control/answer.h"
#include "control/routes.h"

#include <string.h>

static void answer_levels(const struct http_request *request)
{
	json_t *pools = json_object();
	const char *pool;

	for (size_t i = 0; (pool = log_level_pool(i)); i++)
		json_object_set_new_nocheck(
			pools, pool, json_string(log_level_name(log_level_of(pool))));
	control_answer_json(request, 200,
		json_pack(
			"{s:s, s:o}", "level", log_level_name(log_level_of(NULL)), "pools", pools));
}

/* Log at a level that both the old and the new setting print. */
static void log_change(const char *pool, enum log_level old, enum log_level level)
{
	enum log_level min = old < level ? old : level;
	struct log_origin origin = {.pool = pool, .slot = -1};

	log_line(min > LOG_INFO ? min : LOG_INFO, origin, "log level: %s, was %s",
		log_level_name(level), log_level_name(old));
}

/* pool: NULL: all. False: out of memory. The line is logged while the more verbose level is set. */
static bool set_level(const char *pool, enum log_level level)
{
	enum log_level old = log_level_of(pool);

	if (level > old)
		log_change(pool, old, level);
	if (!log_set_level(level, pool))
		return false;
	if (level <= old)
		log_change(pool, old, level);
	return true;
}

void control_answer_log_level(
	const struct supervisor_view *view, const struct http_request *request)
{
	const char *name = http_query(request, "level");
	struct pool_runtime *only;
	enum log_level level;

	if (strcmp(request->method, "POST") != 0)
		answer_levels(request);
	else if (!control_find_pool(view, request, &only))
		return;
	else if (!name || !log_level_find(name, &level))
		control_refuse(request, 400, "level is debug, info, warn or error", NULL);
	else if (!set_level(only ? only->config.name : NULL, level))
		control_refuse_memory(request);
	else
		answer_levels(request);
}
