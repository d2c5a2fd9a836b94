/* GET /v1/log-level, POST /v1/log-level?level=LEVEL, POST /v1/pools/NAME/log-level?level=LEVEL: how
 * much is logged, of all or of one pool. */
#include "cli/control_json.h"
#include "cli/control_routes.h"

#include <string.h>

#define POOLS TEXT("/v1/pools/")

static json_t *pools_with_their_own(void)
{
	json_t *pools = json_object();
	const char *pool;

	for (size_t i = 0; (pool = log_level_pool(i)); i++)
		json_object_set_new_nocheck(
			pools, pool, json_string(log_level_name(log_level_of(pool))));
	return pools;
}

static void answer(const struct http_request *request)
{
	struct buf body;

	buf_init(&body, SIZE_MAX);
	control_json_append(
		&body, json_pack("{s:s, s:o}", "level", log_level_name(log_level_of(NULL)), "pools",
			       pools_with_their_own()));
	buf_append_byte(&body, '\n');
	if (body.failed)
		control_refuse(request, 503, "out of memory", NULL);
	else
		http_answer(request, 200, CONTROL_JSON_TYPE, buf_text(&body), NULL);
	buf_release(&body);
}

/* So that it stands in the log in any case: under the more talkative of the two. */
static void say(const char *pool, enum log_level old, enum log_level level)
{
	enum log_level least = old < level ? old : level;
	struct log_origin origin = {.pool = pool, .slot = -1};

	log_line(least > LOG_INFO ? least : LOG_INFO, origin, "log level: %s, was %s",
		log_level_name(level), log_level_name(old));
}

/* pool: NULL: all. False: out of memory. */
static bool set(const char *pool, enum log_level level)
{
	enum log_level old = log_level_of(pool);
	bool is_quieter = level > old;

	if (is_quieter)
		say(pool, old, level);
	if (!log_set_level(level, pool))
		return false;
	if (!is_quieter)
		say(pool, old, level);
	return true;
}

static struct text name_in(const char *path)
{
	const char *name = path + POOLS.len;

	return text_of(name, strcspn(name, "/"));
}

static void change(const struct overview *overview, const struct http_request *request)
{
	bool is_of_one = text_starts(text_from(request->path), POOLS);
	struct text name = is_of_one ? name_in(request->path) : TEXT_NONE;
	const struct station *station = is_of_one ? fleet_find(overview->fleet, name) : NULL;
	const char *words = http_query(request, "level");
	enum log_level level;

	if (is_of_one && !station)
		control_refuse_pool(overview, request, name);
	else if (!words || !log_level_find(words, &level))
		control_refuse(request, 400, "level is debug, info, warn or error", NULL);
	else if (!set(station ? station_config(station)->name : NULL, level))
		control_refuse(request, 503, "out of memory", NULL);
	else
		answer(request);
}

void control_answer_log_level(const struct overview *overview, const struct http_request *request)
{
	if (strcmp(request->method, "POST") == 0)
		change(overview, request);
	else
		answer(request);
}
