#include "config/check_throttles.h"

#include "config/value/nearest.h"
#include "config/value/session_key.h"
#include "config/value/values.h"

#include <inttypes.h>

/* The queues in which a task waits for a throttle have names that end in at most this
 * (core/tasks/retry.h: the last step of the ladder). */
#define WAIT_QUEUE_SUFFIX ".retry.3600s"

enum { QUEUE_NAME_MAX = 255, NAMES_SHOWN_MAX = 10 };

/* ---------- a throttle ---------- */

static void check_is_given(struct draft *draft, const char *key)
{
	const struct setting *setting = settings_find(SETTING_THROTTLE, key);
	struct buf needed;

	if (draft_given(draft, key))
		return;
	buf_init(&needed, 1024);
	value_append_needed(setting, &needed);
	problems_add(draft->problems, draft->place, "%s%s is missing; %.*s is needed",
		draft->prefix, key, TEXT_ARGS(buf_text(&needed)));
	draft->problems->memory |= needed.failed;
	buf_release(&needed);
}

static void check_name(struct draft *draft, const struct config_throttle *throttles, size_t count)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	const char *name = throttles[count - 1].name;
	char shown[PROBLEMS_QUOTED_SIZE];

	if (!name)
		return;
	if (name[strspn(name, allowed)])
		problems_add(draft->problems, draft_place(draft, "name"),
			"%sname has a character other than letters, digits, '.', '_' and '-'",
			draft->prefix);
	for (size_t i = 0; i + 1 < count; i++) {
		if (!throttles[i].name || strcmp(throttles[i].name, name) != 0)
			continue;
		problems_add(draft->problems, draft_place(draft, "name"),
			"%sname is %s, as that of throttles[%zu]; each throttle needs its own",
			draft->prefix, problems_quote(text_from(name), shown), i);
		return;
	}
}

static void check_key(struct draft *draft, struct config_throttle *throttle)
{
	const char *why = throttle->key ? throttle_key_problem(text_from(throttle->key)) : NULL;
	char shown[PROBLEMS_QUOTED_SIZE];

	if (why)
		problems_add(draft->problems, draft_place(draft, "key"), "%skey is %s%s",
			draft->prefix, problems_quote(text_from(throttle->key), shown), why);
	if (throttle->key || draft_given(draft, "key"))
		return;
	throttle->max_keys = 1;
	if (draft_given(draft, "max_keys"))
		problems_add(draft->problems, draft_place(draft, "max_keys"),
			"%smax_keys is given without key: the throttle has one limit for all "
			"messages; key, such as header:tenant, gives each its own",
			draft->prefix);
}

void check_throttle(struct draft *draft, const struct config_throttle *throttles, size_t count)
{
	struct config_throttle *throttle = draft->base;

	check_is_given(draft, "name");
	check_is_given(draft, "limit");
	check_is_given(draft, "period");
	check_name(draft, throttles, count);
	if (throttle->scope == CONFIG_SCOPE_CLUSTER && throttle->period > 0 &&
		throttle->period < CONFIG_SHARED_PERIOD_MIN)
		problems_add(draft->problems, draft_place(draft, "period"),
			"%speriod is below 500ms, which is too short for scope: cluster, as the "
			"supervisors ask each other through the broker; a longer period with a "
			"higher limit, or scope: supervisor, is needed",
			draft->prefix);
	check_key(draft, throttle);
}

/* ---------- all of them ---------- */

static double mebibytes(uint64_t bytes)
{
	return (double)bytes / (1024 * 1024);
}

void check_throttle_memory(const struct config *config, const char *file, struct problems *problems)
{
	const struct config_throttle *largest = NULL;
	uint64_t sum = 0, most = 0;

	for (size_t i = 0; i < config->throttle_count; i++) {
		const struct config_throttle *throttle = &config->throttles[i];
		uint64_t bytes = config_throttle_memory(throttle->limit, throttle->max_keys);
		sum += bytes;
		if (bytes <= most)
			continue;
		most = bytes;
		largest = throttle;
	}
	if (sum <= CONFIG_THROTTLES_MEMORY)
		return;
	problems_add(problems, place_line(file, largest->line),
		"the starts of all throttles could take %.1f MiB (limit x max_keys x 8 bytes each), "
		"and at most %.0f MiB are possible; the largest is throttles[%td], %" PRId64
		" x %" PRId64 " x 8 bytes; a smaller max_keys or limit is needed",
		mebibytes(sum), mebibytes(CONFIG_THROTTLES_MEMORY), largest - config->throttles,
		largest->limit, largest->max_keys);
}

/* ---------- those of a pool ---------- */

/* Append what may have been meant by a name that no throttle has. */
static void append_meant(const struct config *config, const char *name, struct buf *out)
{
	const char *names[CONFIG_THROTTLES_MAX + 1] = {NULL};
	const char *nearest;
	size_t count = 0;

	for (size_t i = 0; i < config->throttle_count; i++)
		if (config->throttles[i].name)
			names[count++] = config->throttles[i].name;
	nearest = nearest_name(text_from(name), names);
	if (nearest)
		buf_printf(out, "the nearest is %s", nearest);
	else if (count == 0)
		buf_append_text(out, TEXT("throttles, outside the pools, has none"));
	else
		buf_append_text(out, TEXT("there are "));
	for (size_t i = 0; !nearest && i < count && i < NAMES_SHOWN_MAX; i++)
		buf_printf(out, "%s%s", i > 0 ? ", " : "", names[i]);
	if (!nearest && count > NAMES_SHOWN_MAX)
		buf_printf(out, " and %zu more", count - NAMES_SHOWN_MAX);
}

static void report_unknown(struct draft *draft, const struct config *config, const char *name)
{
	struct buf meant;
	char shown[PROBLEMS_QUOTED_SIZE];

	buf_init(&meant, 2048);
	append_meant(config, name, &meant);
	problems_add(draft->problems, draft_place(draft, "throttle"),
		"%sthrottle: %s is unknown; %.*s", draft_prefix(draft, "throttle"),
		problems_quote(text_from(name), shown), TEXT_ARGS(buf_text(&meant)));
	draft->problems->memory |= meant.failed;
	buf_release(&meant);
}

static void check_pool_throttle(
	struct draft *draft, const struct config *config, const char *name, bool is_complete)
{
	const struct config_pool *pool = draft->base;
	const struct config_throttle *throttle = config_find_throttle(config, name);

	if (!throttle && is_complete)
		report_unknown(draft, config, name);
	if (throttle && throttle->key && strcmp(throttle->key, "session") == 0 &&
		!pool->session.key)
		problems_add(draft->problems, draft_place(draft, "throttle"),
			"%sthrottle: %s has key: session, and the pool has no sessions; "
			"session.key, or a throttle with another key, is needed",
			draft->prefix, name);
}

static void check_is_new(struct draft *draft, char *const *names, size_t count)
{
	char shown[PROBLEMS_QUOTED_SIZE];

	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], names[count]) == 0)
			problems_add(draft->problems, draft_place(draft, "throttle"),
				"%sthrottle: %s is there twice; once is enough",
				draft_prefix(draft, "throttle"),
				problems_quote(text_from(names[count]), shown));
}

static void imply(struct draft *draft, struct config_pool *pool)
{
	static const char by[] = "throttle";

	/* What was sent ahead would start when its worker likes. */
	if (pool->pipeline > 1)
		draft_contradiction(draft, "pipeline", by, "1 or auto");
	pool->pipeline = 1;
	if (pool->queue && strlen(pool->queue) + sizeof WAIT_QUEUE_SUFFIX - 1 > QUEUE_NAME_MAX)
		problems_add(draft->problems, draft_place(draft, "queue"),
			"%squeue is too long for throttles: with \"" WAIT_QUEUE_SUFFIX
			"\" the name is over 255 bytes",
			draft->prefix);
}

void check_pool_throttles(struct draft *draft, const struct config *config, bool is_complete)
{
	struct config_pool *pool = draft->base;

	for (size_t i = 0; pool->throttle && pool->throttle[i]; i++) {
		check_pool_throttle(draft, config, pool->throttle[i], is_complete);
		check_is_new(draft, pool->throttle, i);
	}
	if (pool->throttle)
		imply(draft, pool);
}
