#include "runtime/reload.h"

#include "config/change.h"
#include "config/url/secrets.h"
#include "os/clock.h"
#include "runtime/command_check.h"
#include "runtime/throttles/throttles.h"
#include "tty/console.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#define LINE_LIMIT (1024 * 1024)

struct attempt {
	struct reload *reload;
	const char *requested_by;
	struct config *config; /* the new one; owned */
	struct reload_outcome *outcome;
};

/* ---------- log lines ---------- */

/* "workers 2 -> 4, command" */
static void append_changes(struct buf *out, const struct reload_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++) {
		const struct reload_change *change = &changes->list[i];
		buf_printf(out, "%s%s", i > 0 ? ", " : "", change->setting->key);
		if (change->has_values)
			buf_printf(out, " %.*s -> %.*s", TEXT_ARGS(buf_text(&change->from)),
				TEXT_ARGS(buf_text(&change->to)));
	}
}

static void log_step(const struct reload_step *step)
{
	static const char *const next[] = {
		[RELOAD_KEEP] = "",
		[RELOAD_CHANGE] = "",
		[RELOAD_RESTART] = "; its workers are replaced, one by one",
		[RELOAD_REPLACE] = "; the old pool works until the new one is ready",
		[RELOAD_ADD] = "",
		[RELOAD_REMOVE] = "; it finishes its tasks in hand",
	};
	struct buf changes;

	if (step->action == RELOAD_KEEP)
		return;
	buf_init(&changes, LINE_LIMIT);
	append_changes(&changes, &step->changes);
	log_line(LOG_INFO, (struct log_origin){.pool = step->name, .slot = -1}, "%s%s%.*s%s",
		reload_action_name(step->action), step->changes.count > 0 ? ": " : "",
		TEXT_ARGS(buf_text(&changes)), next[step->action]);
	buf_release(&changes);
}

static void log_throttle(const struct reload_throttle *throttle)
{
	struct buf changes;

	buf_init(&changes, LINE_LIMIT);
	append_changes(&changes, &throttle->changes);
	log_info("throttle %s %s%s%.*s", throttle->name, reload_action_name(throttle->action),
		throttle->changes.count > 0 ? ": " : "", TEXT_ARGS(buf_text(&changes)));
	buf_release(&changes);
}

static void log_settings(
	enum log_level level, const char *what, const struct reload_changes *changes)
{
	struct buf line;

	if (changes->count == 0)
		return;
	buf_init(&line, LINE_LIMIT);
	append_changes(&line, changes);
	log_line(level, (struct log_origin){.slot = -1}, "%s: %.*s", what,
		TEXT_ARGS(buf_text(&line)));
	buf_release(&line);
}

static void log_result(const struct attempt *attempt)
{
	const struct reload_outcome *outcome = attempt->outcome;
	size_t pools = pool_set_pools(attempt->reload->pool_set);
	const struct problems *problems = &outcome->problems;

	switch (outcome->result) {
	case RELOAD_DONE:
		log_info("%s: configuration reloaded: %zu pool%s", attempt->requested_by, pools,
			pools == 1 ? "" : "s");
		break;
	case RELOAD_REFUSED:
		log_warn("%s: configuration not reloaded: %s", attempt->requested_by,
			outcome->refusal);
		break;
	case RELOAD_INVALID:
		for (size_t i = 0; i < problems->count; i++)
			log_error("%s", problems->list[i].message);
		log_error(
			"%s: configuration not reloaded: it is wrong; the present one stays in force",
			attempt->requested_by);
		break;
	case RELOAD_NO_MEMORY:
		log_error(
			"%s: configuration not reloaded: out of memory; the present one stays in force",
			attempt->requested_by);
		break;
	}
}

/* ---------- load ---------- */

static enum reload_result refuse(struct attempt *attempt, const char *why)
{
	attempt->outcome->refusal = why;
	return RELOAD_REFUSED;
}

static enum reload_result load(struct attempt *attempt)
{
	struct config_flags flags = *attempt->reload->flags;
	struct problems *problems = &attempt->outcome->problems;
	enum rc rc;

	if (*attempt->reload->phase != SERVING)
		return refuse(attempt, "the supervisor is stopping");
	flags.is_reload = true;
	rc = config_load(&flags, environ, &attempt->config, problems);
	if (rc != RC_OK)
		return rc == RC_MEMORY ? RELOAD_NO_MEMORY : RELOAD_INVALID;
	command_check_add_warnings(attempt->config, problems);
	if (problems->memory)
		return RELOAD_NO_MEMORY;
	if (runtime_shared_cannot_serve(attempt->reload->tools, attempt->config))
		return refuse(attempt,
			"workers with a user of their own need a restart of wpool: only wpool's "
			"user can enter the folder of the workers' pipes");
	return RELOAD_DONE;
}

/* ---------- apply ---------- */

/* Create the new pools. They take no message before their first turn, so they can be undone. */
static bool create_pools(struct attempt *attempt, struct pool_runtime **created)
{
	struct reload *reload = attempt->reload;
	const struct reload_plan *plan = &attempt->outcome->plan;

	for (size_t i = 0; i < plan->count; i++) {
		const struct reload_step *step = &plan->steps[i];
		if (step->action != RELOAD_ADD && step->action != RELOAD_REPLACE)
			continue;
		created[i] =
			pool_set_add(reload->pool_set, reload->tools, step->config, clock_now());
		if (!created[i] || !broker_links_connect(reload->broker_links, created[i]))
			return false;
	}
	return true;
}

static void undo_pools(struct attempt *attempt, struct pool_runtime **created)
{
	for (size_t i = 0; i < attempt->outcome->plan.count; i++) {
		if (!created[i])
			continue;
		broker_links_forget(attempt->reload->broker_links, created[i]);
		pool_set_remove(attempt->reload->pool_set, created[i]);
	}
}

/* created: RELOAD_ADD, RELOAD_REPLACE; else NULL. */
static void apply_step(const struct reload_step *step, struct pool_runtime *created)
{
	mtime now = clock_now();

	log_step(step);
	switch (step->action) {
	case RELOAD_KEEP:
	case RELOAD_ADD:
		break;
	case RELOAD_CHANGE:
	case RELOAD_RESTART:
		pool_runtime_change(step->runtime, step->config, now);
		break;
	case RELOAD_REPLACE:
		pool_runtime_inherit(created, step->runtime, now);
		pool_runtime_mark_replaced(step->runtime, created);
		break;
	case RELOAD_REMOVE:
		pool_runtime_drain(step->runtime, now);
		break;
	}
}

static void apply_settings(struct attempt *attempt)
{
	const struct reload_plan *plan = &attempt->outcome->plan;
	struct config *config = attempt->reload->config;
	enum log_level before = log_level_of(NULL);
	bool is_level_new = config->log_level != attempt->config->log_level,
	     is_format_new = config->log_format != attempt->config->log_format;

	log_settings(LOG_INFO, "changed", &plan->settings);
	log_settings(LOG_WARN, "changes at the next start only", &plan->needs_restart);
	change_take_over(SETTING_ROOT, config, attempt->config);
	if (is_format_new)
		console_set_up_log(config);
	/* A log level set by an operator holds until another one is configured. */
	if (is_format_new || is_level_new)
		log_set_level(is_level_new ? config->log_level : before, NULL);
}

/* What the throttles borrow is what stays. They exist, or no pool uses them, so that none is made.
 */
static void define_throttles(struct reload *reload)
{
	bool is_done = throttles_define(reload->throttles, reload->config);

	assert(is_done);
	throttles_drop_unused(reload->throttles);
}

static void keep_throttles(struct attempt *attempt)
{
	change_take_over_throttles(attempt->reload->config, attempt->config);
	define_throttles(attempt->reload);
}

static enum reload_result apply(struct attempt *attempt)
{
	const struct reload_plan *plan = &attempt->outcome->plan;
	struct pool_runtime **created = calloc(plan->count + 1, sizeof *created);
	/* Before pools are created: their part of the configuration moves into them. */
	runtime_shared_allow_limits(attempt->reload->tools, attempt->config);
	/* The old addresses stay in force until a restart, and so do their variables. */
	bool is_created = created &&
			  secrets_add_all(&attempt->reload->config->secrets,
				  attempt->config->secrets) == RC_OK &&
			  throttles_define(attempt->reload->throttles, attempt->config) &&
			  create_pools(attempt, created);

	if (is_created) {
		console_warn(&attempt->outcome->problems);
		throttles_configure(attempt->reload->throttles);
		for (size_t i = 0; i < plan->throttle_count; i++)
			log_throttle(&plan->throttles[i]);
		for (size_t i = 0; i < plan->count; i++)
			apply_step(&plan->steps[i], created[i]);
		apply_settings(attempt);
		keep_throttles(attempt);
	} else if (created) {
		undo_pools(attempt, created);
		define_throttles(attempt->reload);
	}
	free(created);
	return is_created ? RELOAD_DONE : RELOAD_NO_MEMORY;
}

void reload_run(struct reload *reload, const char *requested_by, bool is_dry,
	struct reload_outcome *outcome)
{
	struct attempt attempt = {
		.reload = reload, .requested_by = requested_by, .outcome = outcome};

	*outcome = (struct reload_outcome){.is_dry = is_dry};
	outcome->result = load(&attempt);
	if (outcome->result == RELOAD_DONE &&
		!reload_plan_make(&outcome->plan, reload->pool_set, reload->config, attempt.config))
		outcome->result = RELOAD_NO_MEMORY;
	if (outcome->result == RELOAD_DONE && !is_dry)
		outcome->result = apply(&attempt);
	if (!is_dry)
		log_result(&attempt);
	config_free(attempt.config);
}

void reload_outcome_release(struct reload_outcome *outcome)
{
	problems_release(&outcome->problems);
	reload_plan_release(&outcome->plan);
}

/* ---------- afterwards ---------- */

/* It takes messages, will take them when the old one has left or passed its token on, or when its
 * throttle allows, or is paused, with as many workers ready as the old one has, or as it wants. */
static bool has_taken_over(const struct pool_runtime *latest, const struct pool_runtime *before)
{
	struct pool_facts facts = pool_facts(latest->pool);

	return (consumer_is_consuming(latest->consumer) || pool_token_waits(&latest->token) ||
		       consumer_is_next(latest->consumer) || facts.closed_until ||
		       facts.state == POOL_IS_PAUSED) &&
	       (facts.ready >= pool_facts(before->pool).ready || facts.ready >= facts.wanted);
}

/* While the new pool cannot work, the old one is all there is. */
static bool may_drain(const struct pool_set *pool_set, const struct pool_runtime *runtime)
{
	const struct pool_runtime *latest =
		pool_set_find(pool_set, text_from(runtime->config.name));

	return latest == runtime || latest->is_draining || has_taken_over(latest, runtime);
}

void reload_sweep(struct reload *reload)
{
	struct pool_runtime *runtime;

	for (size_t i = 0; (runtime = pool_set_next(reload->pool_set, &i));) {
		if (!pool_runtime_is_retiring(runtime))
			continue;
		if (!runtime->is_draining) {
			if (may_drain(reload->pool_set, runtime))
				pool_runtime_drain(runtime, clock_now());
		} else if (pool_runtime_is_drained(runtime)) {
			pool_runtime_log_summary(runtime);
			broker_links_forget(reload->broker_links, runtime);
			pool_set_remove(reload->pool_set, runtime);
		}
	}
}
