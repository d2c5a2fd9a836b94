#include "config/warnings.h"

#include "config/settings.h"
#include "config/value/environment.h"
#include "config/value/nearest.h"
#include "config/value/quantity.h"
#include "config/yaml/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A name that differs in more letters is another name, not a misspelling. */
enum { TYPO_DISTANCE_MAX = 2 };
#define SHARED_PERIOD_WARNED (10 * MTIME_MINUTE)

static const struct text prefix = {"WPOOL_", 6};

/* Of an address, beside AMQP_URL. */
static const char *const address_parts[] = {"RABBITMQ_HOSTNAME", "RABBITMQ_PORT",
	"RABBITMQ_USERNAME", "RABBITMQ_PASSWORD", "RABBITMQ_VHOST", NULL};

/* Set by wpool itself: for the workers of another wpool, and in tests of crashes. */
static const char *const others[] = {"WPOOL_WORKER", "WPOOL_CONCURRENCY", "WPOOL_TASK",
	"WPOOL_PRELOAD", "WPOOL_LAST_EXIT", "WPOOL_CRASH_AT", NULL};

/* Set only beside WPOOL_WORKER. Without it they are likely meant as settings. */
static const char *const place_names[] = {"WPOOL_POOL", "WPOOL_SLOT", "WPOOL_WORKERS", NULL};

/* A setting by its variable. */
struct use {
	const struct setting *setting; /* NULL: none has it */
	enum setting_scope scope;
};

static struct use find_use(struct text variable)
{
	for (enum setting_scope scope = SETTING_ROOT; scope <= SETTING_POOL; scope++) {
		size_t count;
		const struct setting *setting = settings_of(scope, &count);
		for (; count > 0; count--, setting++)
			if (setting->variable && text_is(variable, text_from(setting->variable)))
				return (struct use){setting, scope};
	}
	return (struct use){0};
}

/* ---------- names ---------- */

static bool has_part(struct text name, struct text part)
{
	return memmem(name.ptr, name.len, part.ptr, part.len) != NULL;
}

/* Kubernetes sets these for a Service: RABBITMQ_PORT is such a one, and so are WPOOL_SERVICE_HOST,
 * WPOOL_SERVICE_PORT_METRICS and WPOOL_PORT_9464_TCP_ADDR of a Service named wpool. */
static bool is_of_service(struct text name, struct text value)
{
	bool is_address = text_starts(value, TEXT("tcp://")) || text_starts(value, TEXT("udp://"));
	const char *port = memmem(name.ptr, name.len, "_PORT_", 6);
	return text_ends(name, TEXT("_SERVICE_HOST")) || has_part(name, TEXT("_SERVICE_PORT")) ||
	       (text_ends(name, TEXT("_PORT")) && is_address) ||
	       (port && port[6] >= '0' && port[6] <= '9');
}

static void append_nearest(struct buf *out, struct text name)
{
	const char *names[2 * SETTINGS_MAX + 1] = {NULL};
	size_t filled = 0;
	struct text rest = text_of(name.ptr + prefix.len, name.len - prefix.len);
	for (enum setting_scope scope = SETTING_ROOT; scope <= SETTING_POOL; scope++) {
		size_t count;
		const struct setting *setting = settings_of(scope, &count);
		for (; count > 0; count--, setting++)
			if (setting->variable && text_starts(text_from(setting->variable), prefix))
				names[filled++] = setting->variable + prefix.len;
	}
	const char *nearest = nearest_name(rest, names);
	if (nearest && nearest_distance(rest, text_from(nearest)) <= TYPO_DISTANCE_MAX)
		buf_printf(out, "; the nearest is %.*s%s", TEXT_ARGS(prefix), nearest);
}

/* ---------- what has no effect ---------- */

/* Append what decides instead: "wpool.yaml:3 has drain", or a flag. */
static void append_place(struct buf *out, const struct place *place, const char *key)
{
	if (place->line)
		buf_printf(out, "because %s:%zu has %s", place->name, place->line, key);
	else
		buf_printf(out, "because %s is given", place->name);
}

/* Of a setting: what decides instead. Append nothing if the variable does. */
static void append_of_setting(
	const struct variable_uses *uses, const struct use *use, struct buf *out)
{
	static const char socket[] = "control.socket";
	const struct draft *draft = use->scope == SETTING_ROOT ? uses->root : uses->pool;
	const struct place *place = draft ? draft_given(draft, use->setting->key) : NULL;
	if (!draft)
		buf_printf(out, "because the pools are in %s", uses->root->place.name);
	/* The commands that ask a supervisor read this variable, but no file. */
	else if (place && strcmp(place->name, use->setting->variable) != 0 &&
		 strcmp(use->setting->key, socket) != 0)
		append_place(out, place, use->setting->key);
}

/* Of an address: what decides instead. */
static void append_of_address(const struct variable_uses *uses, struct text name, struct buf *out)
{
	const struct place *url = draft_given(uses->root, "broker.url");
	const struct place *file = draft_given(uses->root, "broker.password_file");
	if (url)
		append_place(out, url, "broker.url");
	else if (environment_value(uses->environment, "AMQP_URL"))
		buf_append_text(out, TEXT("because AMQP_URL is set"));
	else if (file && text_is(name, TEXT("RABBITMQ_PASSWORD")))
		append_place(out, file, "broker.password_file");
}

/* True: wpool set it, for its workers or in a test. */
static bool is_from_wpool(const struct variable_uses *uses, struct text name)
{
	return others[text_index(name, others)] ||
	       (place_names[text_index(name, place_names)] &&
		       environment_value(uses->environment, "WPOOL_WORKER"));
}

/* Append why the variable has no effect; nothing if it has one, or is not ours. */
static void append_reason(const struct variable_uses *uses, struct text name, struct buf *out)
{
	struct use use = find_use(name);
	if (uses->file && tree_expands(uses->file, name))
		return;
	if (text_is(name, TEXT("AMQP_URL"))) {
		if (draft_given(uses->root, "broker.url"))
			append_place(out, draft_given(uses->root, "broker.url"), "broker.url");
	} else if (address_parts[text_index(name, address_parts)]) {
		append_of_address(uses, name, out);
	} else if (!text_starts(name, prefix) || is_from_wpool(uses, name)) {
		return;
	} else if (use.setting) {
		append_of_setting(uses, &use, out);
	} else {
		buf_append_text(out, TEXT("because wpool has no such variable"));
		append_nearest(out, name);
	}
}

void warnings_add_variables(const struct variable_uses *uses, struct problems *problems)
{
	struct buf reason;
	buf_init(&reason, 8 * 1024);
	for (char *const *entry = uses->environment; entry && *entry; entry++) {
		struct text name = text_of(*entry, strcspn(*entry, "="));
		struct text value = text_from(*entry + name.len);
		if (value.len < 2 || is_of_service(name, text_of(value.ptr + 1, value.len - 1)))
			continue;
		buf_clear(&reason);
		append_reason(uses, name, &reason);
		if (buf_len(&reason) > 0)
			problems_add_warning(problems, 0, "%.*s has no effect, %.*s",
				TEXT_ARGS(name), TEXT_ARGS(buf_text(&reason)));
		problems->memory |= reason.failed;
	}
	buf_release(&reason);
}

void warnings_add_broker(char *const *environment, struct problems *problems)
{
	if (!environment_value(environment, "AMQP_URL"))
		return;
	for (const char *const *name = address_parts; *name; name++) {
		const char *value = environment_value(environment, *name);
		if (value && !is_of_service(text_from(*name), text_from(value)))
			problems_add_warning(
				problems, 0, "%s has no effect, because AMQP_URL is set", *name);
	}
}

/* Of a setting of pool i; of the pool itself, if the setting has its default. */
static size_t line_of(const struct config_source *source, size_t i, const char *key)
{
	size_t line = source->file ? file_line_of(source->file, i, key) : 0;
	return line ? line : source->config->pools[i].line;
}

void warnings_add_empty_places(const struct config_source *source, struct problems *problems)
{
	const struct config *config = source->config;
	for (size_t i = 0; i < config->pool_count; i++) {
		const struct config_pool *pool = &config->pools[i];
		int64_t places = pool->workers_max * pool->concurrency;
		if (pool->concurrency > 1 && places > CONFIG_PREFETCH_MAX)
			problems_add_warning(problems, line_of(source, i, "concurrency"),
				"pools[%zu].concurrency: %" PRId64 " workers with %" PRId64
				" tasks each are %" PRId64 " places, but one channel holds %d "
				"messages: the others stay empty",
				i, pool->workers_max, pool->concurrency, places,
				CONFIG_PREFETCH_MAX);
		if (pool->concurrency > 1 && pool->prefetch > 0 && pool->prefetch < places &&
			pool->prefetch < CONFIG_PREFETCH_MAX)
			problems_add_warning(problems, line_of(source, i, "prefetch"),
				"pools[%zu].prefetch: %" PRId64
				" messages are fewer than the %" PRId64 " places of %" PRId64
				" workers with a concurrency of %" PRId64 ": the others stay empty",
				i, pool->prefetch, places, pool->workers_max, pool->concurrency);
	}
}

static void add_over_ack_timeout(const struct config_source *source, size_t i, const char *key,
	mtime limit, struct problems *problems)
{
	if (limit == MTIME_NEVER || limit < CONFIG_ACK_TIMEOUT)
		return;
	problems_add_warning(problems, line_of(source, i, key),
		"pools[%zu].%s: a broker takes back what is not acked for 30min (its "
		"consumer_timeout, by default), and the time before a task begins counts: a task "
		"that its worker has not accepted (status -2) would be begun again and again",
		i, key);
}

void warnings_add_limits(const struct config_source *source, struct problems *problems)
{
	const struct config *config = source->config;
	for (size_t i = 0; i < config->pool_count; i++) {
		const struct config_pool *pool = &config->pools[i];
		add_over_ack_timeout(source, i, "limits.soft", pool->limits.soft, problems);
		add_over_ack_timeout(source, i, "limits.hard", pool->limits.hard, problems);
		if (pool->limits.soft != MTIME_NEVER && pool->limits.soft >= pool->limits.hard)
			problems_add_warning(problems, line_of(source, i, "limits.soft"),
				"pools[%zu].limits.soft is not below limits.hard, which ends the "
				"worker before",
				i);
	}
}

void warnings_add_sessions(const struct config_source *source, struct problems *problems)
{
	const struct config *config = source->config;
	for (size_t i = 0; i < config->pool_count; i++) {
		const struct config_session *session = &config->pools[i].session;
		if (!session->key)
			continue;
		if (session->max_active != MTIME_NEVER &&
			session->max_active > session->max_sessions)
			problems_add_warning(problems, line_of(source, i, "session.max_active"),
				"pools[%zu].session.max_active: %" PRId64
				" is more than session.max_sessions (%" PRId64
				"), which forgets idle sessions before",
				i, session->max_active, session->max_sessions);
		if (session->max_unacked_age >= CONFIG_ACK_TIMEOUT)
			problems_add_warning(problems,
				line_of(source, i, "session.max_unacked_age"),
				"pools[%zu].session.max_unacked_age: a broker takes back what is "
				"not acked for 30min (its consumer_timeout, by default); less is "
				"needed",
				i);
	}
}

static bool names_throttle(const struct config_pool *pool, const char *name)
{
	for (size_t i = 0; pool->throttle && pool->throttle[i]; i++)
		if (strcmp(pool->throttle[i], name) == 0)
			return true;
	return false;
}

static void add_unused_throttles(const struct config *config, struct problems *problems)
{
	for (size_t i = 0; i < config->throttle_count; i++) {
		const struct config_throttle *throttle = &config->throttles[i];
		bool is_used = false;
		for (size_t j = 0; j < config->pool_count && !is_used; j++)
			is_used = names_throttle(&config->pools[j], throttle->name);
		if (!is_used)
			problems_add_warning(problems, throttle->line,
				"throttles[%zu]: no pool has %s in its throttle, so it limits "
				"nothing",
				i, throttle->name);
	}
}

/* With another leader nothing starts until all that the one before may have granted is over. */
static void add_long_silences(const struct config *config, struct problems *problems)
{
	for (size_t i = 0; i < config->throttle_count; i++) {
		const struct config_throttle *throttle = &config->throttles[i];
		struct buf period;
		if (throttle->scope != CONFIG_SCOPE_CLUSTER ||
			throttle->period <= SHARED_PERIOD_WARNED)
			continue;
		buf_init(&period, 64);
		quantity_append_duration(&period, throttle->period);
		problems_add_warning(problems, throttle->line,
			"throttles[%zu]: with scope: cluster, no task of %s starts for its period "
			"(%.*s) after the first start of all supervisors, or when the one that "
			"leads it is killed: the next one does not know what was started",
			i, throttle->name, TEXT_ARGS(buf_text(&period)));
		problems->memory |= period.failed;
		buf_release(&period);
	}
}

/* What waits for it stays unacked. */
static void add_long_throttle(
	const struct config_source *source, size_t i, const char *name, struct problems *problems)
{
	const struct config_pool *pool = &source->config->pools[i];
	const struct config_throttle *throttle = config_find_throttle(source->config, name);
	struct buf words;

	if (throttle->when_exceeded == CONFIG_EXCEEDED_DEAD_LETTER ||
		throttle->period <= pool->session.max_unacked_age)
		return;
	buf_init(&words, 256);
	buf_printf(&words, "pools[%zu].throttle: a message may wait for the throttle %s for ", i,
		name);
	quantity_append_duration(&words, throttle->period);
	buf_append_text(&words, TEXT(", its period, which is over session.max_unacked_age ("));
	quantity_append_duration(&words, pool->session.max_unacked_age);
	buf_append_text(&words, TEXT("): meanwhile the channel is renewed, and what waits in "
				     "hand is delivered again"));
	problems_add_warning(
		problems, line_of(source, i, "throttle"), "%.*s", TEXT_ARGS(buf_text(&words)));
	problems->memory |= words.failed;
	buf_release(&words);
}

void warnings_add_throttles(const struct config_source *source, struct problems *problems)
{
	const struct config *config = source->config;
	add_unused_throttles(config, problems);
	add_long_silences(config, problems);
	for (size_t i = 0; i < config->pool_count; i++) {
		char **names = config->pools[i].throttle;
		for (size_t j = 0; names && names[j]; j++)
			if (config->pools[i].session.key)
				add_long_throttle(source, i, names[j], problems);
	}
}

void warnings_add_delivery_limits(const struct config *config, struct problems *problems)
{
	for (size_t i = 0; i < config->pool_count; i++) {
		const struct config_pool *pool = &config->pools[i];
		if (pool->session.key && pool->declare != CONFIG_DECLARE_ON &&
			pool->session.delivery_limit == CONFIG_DELIVERY_LIMIT_UNKNOWN)
			problems_add_warning(problems, pool->line,
				"pools[%zu].session.delivery_limit is unknown, so no channel is "
				"renewed for a message that has come back 10 times; `wpool "
				"declare` shows the queue's own limit, `rabbitmqctl list_policies` "
				"those of policies; without any, set none (docs/ordering.md)",
				i);
	}
}

void warnings_add_rights(const struct config *config, struct problems *problems)
{
	struct buf lack;
	buf_init(&lack, 1024);
	for (size_t i = 0; i < config->pool_count; i++) {
		buf_clear(&lack);
		if (rights_append_missing(&config->pools[i].rights, &lack) ||
			rights_append_unseen_strays(&config->pools[i].rights, &lack))
			problems_add_warning(problems, config->pools[i].line, "pools[%zu].%.*s", i,
				TEXT_ARGS(buf_text(&lack)));
		problems->memory |= lack.failed;
	}
	buf_release(&lack);
}

static int by_queue(const void *a, const void *b)
{
	const struct config_pool *const *left = a, *const *right = b;
	return strcmp((*left)->queue, (*right)->queue);
}

static int find_queue(const void *name, const void *member)
{
	const struct config_pool *const *pool = member;
	return strcmp(name, (*pool)->queue);
}

void warnings_add_dead_letters(const struct config_source *source, struct problems *problems)
{
	const struct config *config = source->config;
	size_t count = config->pool_count;
	const struct config_pool **sorted = malloc(count * sizeof *sorted);
	if (!sorted) {
		problems->memory = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		sorted[i] = &config->pools[i];
	qsort(sorted, count, sizeof *sorted, by_queue);
	for (size_t i = 0; i < count; i++) {
		const struct config_pool *pool = &config->pools[i];
		const struct config_pool *const *other =
			bsearch(pool->retry.dead_letter, sorted, count, sizeof *sorted, find_queue);
		if (other && *other != pool && strcmp(pool->retry.dead_letter, "broker") != 0)
			problems_add_warning(problems, line_of(source, i, "retry.dead_letter"),
				"pools[%zu].retry.dead_letter: \"%s\" is the queue of pools[%td], "
				"which works what is given up here as tasks of its own",
				i, pool->retry.dead_letter, *other - config->pools);
	}
	free(sorted);
}
