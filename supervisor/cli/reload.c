#include "cli/reload.h"

#include "cli/console.h"
#include "cli/control_json.h"
#include "cli/programs.h"
#include "cli/reload_plan.h"
#include "cli/reload_words.h"
#include "config/change.h"
#include "io/clock.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS_LIMIT (1024 * 1024)

/* Statuses of HTTP. */
enum { ANSWER_DONE = 200, ANSWER_REFUSED = 409, ANSWER_WRONG = 422, ANSWER_NO_MEMORY = 503 };

/* ---------- what is said ---------- */

static const char *what_follows(enum reload_deed deed)
{
	static const char *const words[] = {
		[RELOAD_LEAVES_IT] = "",
		[RELOAD_CHANGES_IT] = "",
		[RELOAD_RESTARTS_IT] = "; its workers are replaced, one by one",
		[RELOAD_REPLACES_IT] = "; the old one works on until the new one has taken over",
		[RELOAD_ADDS_IT] = "",
		[RELOAD_REMOVES_IT] = "; it finishes what it has in hand",
	};

	return words[deed];
}

static void say_step(const struct reload_step *step)
{
	const json_t *settings = json_object_get(step->words, "settings");
	struct buf words;

	if (step->deed == RELOAD_LEAVES_IT)
		return;
	buf_init(&words, WORDS_LIMIT);
	buf_printf(&words, "%s%s", json_string_value(json_object_get(step->words, "what")),
		json_array_size(settings) > 0 ? ": " : "");
	reload_append_settings(&words, settings);
	buf_append_text(&words, text_from(what_follows(step->deed)));
	log_line(LOG_INFO,
		(struct log_origin){.pool = json_string_value(json_object_get(step->words, "name")),
			.slot = -1},
		"%.*s", TEXT_ARGS(buf_text(&words)));
	buf_release(&words);
}

static void say_root(const json_t *answer)
{
	const json_t *taken = json_object_get(answer, "settings");
	const json_t *left = json_object_get(answer, "needs_restart");
	struct buf words;

	buf_init(&words, WORDS_LIMIT);
	reload_append_settings(&words, taken);
	if (json_array_size(taken) > 0)
		log_info("changed: %.*s", TEXT_ARGS(buf_text(&words)));
	buf_clear(&words);
	reload_append_settings(&words, left);
	if (json_array_size(left) > 0)
		log_warn("needs a restart, and is as before until then: %.*s",
			TEXT_ARGS(buf_text(&words)));
	buf_release(&words);
}

/* ---------- the new one ---------- */

struct attempt {
	struct reload *reload;
	const char *by;
	bool is_dry;
	struct config *config; /* the new one; owned */
	struct buf problems;   /* or doubts */
	struct reload_plan plan;
	json_t *answer; /* owned until it is given away */
};

static unsigned refuse(struct attempt *attempt, unsigned status, const char *why)
{
	attempt->answer = json_pack("{s:s}", "error", why);
	if (!attempt->is_dry)
		log_warn("%s: the configuration is not read again: %s", attempt->by, why);
	return attempt->answer ? status : ANSWER_NO_MEMORY;
}

/* Each mistake is a line of the log, too. */
static unsigned reject(struct attempt *attempt)
{
	struct text lines = buf_text(&attempt->problems), line;

	while (!attempt->is_dry && text_take_line(&lines, &line))
		log_error("%.*s", TEXT_ARGS(line));
	if (!attempt->is_dry)
		log_error("%s: the configuration is wrong, so it is not taken over; the one that "
			  "is in force stays, whole",
			attempt->by);
	attempt->answer =
		json_pack("{s:s, s:o}", "error", "the configuration is wrong; nothing has changed",
			"problems", control_json_lines(&attempt->problems));
	return attempt->answer ? ANSWER_WRONG : ANSWER_NO_MEMORY;
}

/* To wait for what may never come would be the end of all work. */
static bool is_readable_again(const char *file)
{
	struct stat status;

	return !file || stat(file, &status) != 0 || S_ISREG(status.st_mode);
}

static unsigned load(struct attempt *attempt)
{
	const struct config_flags *flags = attempt->reload->flags;
	enum rc rc;

	if (*attempt->reload->phase != SERVING)
		return refuse(attempt, ANSWER_REFUSED, "the supervisor is stopping");
	if (!is_readable_again(flags->file))
		return refuse(
			attempt, ANSWER_REFUSED, "its file is no regular file, and was read once");
	rc = config_load(flags, environ, &attempt->config, &attempt->problems);
	if (rc != RC_OK)
		return rc == RC_MEMORY ? ANSWER_NO_MEMORY : reject(attempt);
	programs_append_doubts(attempt->config, &attempt->problems);
	if (station_tools_lack(attempt->reload->tools, attempt->config))
		return refuse(attempt, ANSWER_REFUSED,
			"workers that are other users than wpool need a restart of it: the folder of "
			"their pipes was made where only wpool can go");
	return ANSWER_DONE;
}

static json_t *pools_of(const struct reload_plan *plan)
{
	json_t *pools = json_array();

	for (size_t i = 0; i < plan->count; i++)
		if (json_array_append(pools, plan->steps[i].words) != 0) {
			json_decref(pools);
			return NULL;
		}
	return pools;
}

static unsigned describe(struct attempt *attempt)
{
	const struct config *old = attempt->reload->config, *other = attempt->config;
	struct buf doubts;

	buf_init(&doubts, WORDS_LIMIT);
	buf_append_text(&doubts, buf_text(&attempt->problems));
	attempt->answer = json_pack("{s:b, s:o, s:o, s:o, s:o}", "dry_run", attempt->is_dry,
		"pools", pools_of(&attempt->plan), "settings",
		reload_settings(SETTING_ROOT, old, other, false), "needs_restart",
		reload_settings(SETTING_ROOT, old, other, true), "doubts",
		control_json_lines(&doubts));
	return attempt->answer ? ANSWER_DONE : ANSWER_NO_MEMORY;
}

/* ---------- taken over ---------- */

static bool is_new(const struct reload_step *step)
{
	return step->deed == RELOAD_ADDS_IT || step->deed == RELOAD_REPLACES_IT;
}

/* They take nothing before their first turn, so they can be unmade. */
static bool make_new(struct attempt *attempt, struct station **made)
{
	struct reload *reload = attempt->reload;

	for (size_t i = 0; i < attempt->plan.count; i++) {
		struct reload_step *step = &attempt->plan.steps[i];
		if (!is_new(step))
			continue;
		made[i] = fleet_add(reload->fleet, reload->tools, step->config, clock_now());
		if (!made[i] || !links_connect(reload->links, made[i]))
			return false;
	}
	return true;
}

/* Their channels may be on their way to be open: whoever has such a place next must not find one
 * that is nobody's. */
static void unmake(struct attempt *attempt, struct station **made)
{
	for (size_t i = 0; i < attempt->plan.count; i++) {
		if (!made[i])
			continue;
		publisher_close(station_publisher(made[i]));
		fleet_remove(attempt->reload->fleet, made[i]);
	}
}

static void carry_out(struct reload_step *step, struct station *made)
{
	mtime now = clock_now();

	say_step(step);
	if (made && step->station)
		station_follow(made, step->station, now);
	if (step->deed == RELOAD_REPLACES_IT)
		station_supersede(step->station);
	if (step->deed == RELOAD_REMOVES_IT)
		station_leave(step->station, now);
	if (step->deed == RELOAD_CHANGES_IT || step->deed == RELOAD_RESTARTS_IT)
		station_change(step->station, step->config, now);
}

/* A level that an operator has chosen holds until another one is configured. */
static void take_over_log(const struct config *config, bool is_level_new, bool is_format_new)
{
	enum log_level before = log_level_of(NULL);

	if (is_format_new)
		console_set_up_log(config);
	if (is_format_new || is_level_new)
		log_set_level(is_level_new ? config->log_level : before, NULL);
}

static void take_over_root(struct attempt *attempt)
{
	struct config *config = attempt->reload->config;
	bool is_level_new = config->log_level != attempt->config->log_level,
	     is_format_new = config->log_format != attempt->config->log_format;

	say_root(attempt->answer);
	change_take_over(SETTING_ROOT, config, attempt->config);
	take_over_log(config, is_level_new, is_format_new);
}

static unsigned take_over(struct attempt *attempt)
{
	struct reload_plan *plan = &attempt->plan;
	struct station **made = calloc(plan->count + 1, sizeof *made);

	if (!made || !make_new(attempt, made)) {
		if (made)
			unmake(attempt, made);
		free(made);
		return ANSWER_NO_MEMORY;
	}
	console_warn(buf_text(&attempt->problems));
	for (size_t i = 0; i < plan->count; i++)
		carry_out(&plan->steps[i], made[i]);
	take_over_root(attempt);
	log_info("%s: the configuration was read again: %zu pool%s", attempt->by,
		fleet_pools(attempt->reload->fleet),
		fleet_pools(attempt->reload->fleet) == 1 ? "" : "s");
	free(made);
	return ANSWER_DONE;
}

static unsigned run(struct attempt *attempt)
{
	unsigned status = load(attempt);

	if (status != ANSWER_DONE)
		return status;
	if (!reload_plan_make(&attempt->plan, attempt->reload->fleet, attempt->config))
		return ANSWER_NO_MEMORY;
	status = describe(attempt);
	return status == ANSWER_DONE && !attempt->is_dry ? take_over(attempt) : status;
}

unsigned reload_run(struct reload *reload, const char *by, bool is_dry, json_t **ret_answer)
{
	struct attempt attempt = {.reload = reload, .by = by, .is_dry = is_dry};
	bool is_told = !is_dry && *reload->phase == SERVING; /* else it stops, and has said so */
	unsigned status;

	buf_init(&attempt.problems, WORDS_LIMIT);
	if (is_told)
		service_reloading(reload->service);
	status = run(&attempt);
	if (status == ANSWER_NO_MEMORY && !is_dry)
		log_error("%s: out of memory; the configuration that is in force stays, whole", by);
	if (is_told)
		service_reloaded(reload->service);
	reload_plan_release(&attempt.plan);
	config_free(attempt.config);
	buf_release(&attempt.problems);
	*ret_answer = status == ANSWER_NO_MEMORY ? NULL : attempt.answer;
	if (status == ANSWER_NO_MEMORY)
		json_decref(attempt.answer);
	return status;
}

/* ---------- afterwards ---------- */

static bool is_paused(const struct station *station)
{
	return station_facts(station).standing == POOL_IS_PAUSED;
}

/* It takes messages, or is not to, with as many workers ready as the other has, or as are wanted.
 */
static bool has_taken_over(const struct station *latest, const struct station *before)
{
	struct pool_facts facts = station_facts(latest);

	return (station_is_consuming(latest) || is_paused(latest)) &&
	       (facts.ready >= station_facts(before).ready || facts.ready >= facts.wanted);
}

/* Where the new one comes to nothing, the old one is all there is. */
static bool may_leave(const struct fleet *fleet, const struct station *station)
{
	const struct station *latest = fleet_find(fleet, text_from(station_config(station)->name));

	return latest == station || station_is_draining(latest) || has_taken_over(latest, station);
}

static void sweep(struct reload *reload, struct station *station)
{
	if (!station_is_draining(station)) {
		if (may_leave(reload->fleet, station))
			station_leave(station, clock_now());
	} else if (station_has_left(station)) {
		station_say_goodbye(station);
		links_part(reload->links, station);
		fleet_remove(reload->fleet, station);
	}
}

void reload_sweep(struct reload *reload)
{
	struct station *station;

	for (size_t i = 0; (station = fleet_next(reload->fleet, &i));)
		if (station_is_leaving(station))
			sweep(reload, station);
}
