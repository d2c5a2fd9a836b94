#include "runtime/throttles/throttles.h"

#include "base/keyed_hash.h"
#include "base/log.h"
#include "broker/throttle/throttle_channel.h"
#include "config/value/quantity.h"
#include "core/throttle/member.h"
#include "core/throttle/throttling.h"
#include "os/clock.h"
#include "os/random_id.h"
#include "runtime/throttles/state_folder.h"
#include "runtime/throttles/throttle_log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ten years, as microseconds: longer than any period. */
#define ORIGIN          (3650 * 24 * 60 * MTIME_MINUTE)
#define KEYS_LOGGED_MAX 10000
/* Requests in a row: one is lost now and then. */
#define UNANSWERED_MAX 3
/* Where several consumers are active, each leads for a moment again and again. */
#define LEADER_LOGGED_EVERY (2 * MTIME_SECOND)

_Static_assert(CONFIG_POOL_THROTTLES_MAX == PASSES_MAX, "throttle");
_Static_assert(CONFIG_THROTTLE_LIMIT_MAX == THROTTLE_LIMIT_MAX, "throttles.limit");
_Static_assert(CONFIG_THROTTLE_KEYS_MAX == THROTTLE_KEYS_MAX, "throttles.max_keys");
_Static_assert(THROTTLING_SILENCE_MAX >= THROTTLES_WAIT, "tasks wait in that silence");
_Static_assert(CONFIG_PERIOD_MAX < ORIGIN, "throttles.period");
_Static_assert(CONFIG_PERIOD_MAX == SHARED_PERIOD_MAX, "throttles.period");
_Static_assert(CONFIG_SHARED_PERIOD_MIN == SHARED_PERIOD_MIN, "throttles.period");

mtime throttles_now(void)
{
	return ORIGIN + clock_boot();
}

/* ---------- what the configuration defines ---------- */

static bool are_same(const char *one, const char *other)
{
	return one && other ? strcmp(one, other) == 0 : one == other;
}

static struct throttle_figures figures_of(const struct config_throttle *config)
{
	return (struct throttle_figures){.limit = (uint32_t)config->limit,
		.period = config->period,
		.max_keys = config->key ? (uint32_t)config->max_keys : 1};
}

/* ---------- life ---------- */

/* Others may have begun tasks until now. */
static mtime missed_until(const struct throttle_figures *figures, mtime now)
{
	return now - figures->period + mtime_min(figures->period, THROTTLES_WAIT);
}

struct throttles_folder {
	int fd; /* -1: there is none, which was logged */
	char path[PATH_MAX];
};

static bool find_folder(struct throttles *throttles)
{
	struct throttles_folder *folder = throttles->folder;

	if (folder)
		return folder->fd >= 0;
	folder = throttles->folder = calloc(1, sizeof *folder);
	if (!folder)
		return false;
	if (state_folder_open(&folder->fd, folder->path) == RC_OK)
		return true;
	folder->fd = -1;
	log_warn(
		"the starts of throttles with a period over 10 s are not recorded: %s: %s; after a "
		"restart nothing starts for 10 s, and what was before does not count "
		"($STATE_DIRECTORY names a folder)",
		*folder->path ? folder->path : "no state folder", strerror(errno));
	return false;
}

static void free_named(struct named_throttle *named)
{
	if (!named)
		return;
	throttle_channel_free(named->channel);
	member_free(named->member);
	throttle_log_close(named->log);
	throttle_free(named->throttle);
	free(named->name);
	free(named->key);
	free(named);
}

static bool is_recorded(const struct throttle_figures *figures)
{
	return figures->period > THROTTLES_WAIT;
}

static struct throttle_log *open_log(const struct throttles *throttles,
	const struct named_throttle *named, mtime now, enum throttle_past *ret_past)
{
	const struct throttle_log_place place = {.folder = throttles->folder->fd,
		.path = throttles->folder->path,
		.name = named->name,
		.key = named->key,
		.boot_began = ORIGIN};

	return throttle_log_open(&place, now, ret_past);
}

static void log_restored(const struct named_throttle *named, mtime now)
{
	uint64_t starts;

	if (throttle_in_windows(named->throttle, now, KEYS_LOGGED_MAX, &starts))
		log_info("throttle %s: %" PRIu64 " start%s of the process before count%s",
			named->name, starts, starts == 1 ? "" : "s", starts == 1 ? "s" : "");
	else
		log_info("throttle %s: the starts of the process before count", named->name);
}

/* What this process starts is not in the files by another key, nor in those that it cannot open,
 * nor, with a short period, in any: a later process must not trust them. */
static void forget_records(const struct throttles *throttles, const struct named_throttle *named)
{
	char path[PATH_MAX];
	int fd;

	if (throttles->folder && throttles->folder->fd >= 0) {
		throttle_log_forget(throttles->folder->fd, throttles->folder->path, named->name);
	} else if (state_folder_find(&fd, path) == RC_OK) {
		throttle_log_forget(fd, path, named->name);
		close(fd);
	}
}

static void log_of_channel(void *ctx, enum log_level level, const char *message)
{
	const struct named_throttle *named = ctx;

	log_line(level, (struct log_origin){.slot = -1}, "throttle %s: %s", named->name, message);
}

/* As random as the kernel can make it; all processes have another one. */
static uint64_t random_member(void)
{
	char id[RANDOM_ID_SIZE];
	uint64_t member;

	random_id_make(id);
	member = keyed_hash(0, text_from(id));
	return member > 0 ? member : 1;
}

/* Its keys have the same numbers at all supervisors. False: out of memory. */
static bool set_up_shared(struct throttles *throttles, struct named_throttle *named)
{
	struct text name = text_from(named->name);

	forget_records(throttles, named);
	named->channel_log = (struct channel_log){.on_log_line = log_of_channel, .ctx = named};
	named->throttle = throttle_new(&named->configured, keyed_hash(0, name));
	if (!named->throttle)
		return false;
	named->member = member_new(named->throttle, random_member());
	if (!named->member)
		return false;
	named->channel = throttle_channel_new(
		named->member, name, &named->channel_log, (uint32_t)random_id_seed());
	return named->channel;
}

/* False: out of memory. */
static bool set_up_throttle(struct throttles *throttles, struct named_throttle *named)
{
	const struct throttle_figures *figures = &named->configured;
	enum throttle_past past = THROTTLE_PAST_UNKNOWN;
	mtime now = throttles_now(), before;

	if (is_recorded(figures) && find_folder(throttles)) {
		named->log = open_log(throttles, named, now, &past);
		if (!named->log)
			return false;
	}
	forget_records(throttles, named);
	named->throttle = throttle_new(figures,
		past == THROTTLE_PAST_KNOWN ? throttle_log_seed(named->log) : random_id_seed());
	if (!named->throttle)
		return false;
	if (past == THROTTLE_PAST_KNOWN) {
		throttle_log_restore(named->log, named->throttle, now);
		log_restored(named, now);
		return true;
	}
	before = past == THROTTLE_PAST_DAMAGED ? now : missed_until(figures, now);
	throttle_missed(named->throttle, before);
	if (named->log)
		throttle_log_begin(named->log, named->throttle, before, now);
	return true;
}

static bool set_up(struct throttles *throttles, struct named_throttle *named)
{
	return named->scope == CONFIG_SCOPE_CLUSTER ? set_up_shared(throttles, named)
						    : set_up_throttle(throttles, named);
}

static struct named_throttle *make_named(
	struct throttles *throttles, const struct config_throttle *config)
{
	struct named_throttle *named = calloc(1, sizeof *named);

	if (!named)
		return NULL;
	named->configured = named->wanted = figures_of(config);
	named->memory = CONFIG_THROTTLES_MEMORY;
	named->keys_led = named->wanted.max_keys;
	named->scope = config->scope;
	named->when_exceeded = config->when_exceeded;
	named->name = strdup(config->name);
	named->key = config->key ? strdup(config->key) : NULL;
	if (named->name && (named->key || !config->key) && set_up(throttles, named))
		return named;
	free_named(named);
	return NULL;
}

static bool add(struct throttles *throttles, const struct config_throttle *config)
{
	struct named_throttle **list =
		realloc(throttles->list, (throttles->count + 1) * sizeof(*list));

	if (!list)
		return false;
	throttles->list = list;
	list[throttles->count] = make_named(throttles, config);
	if (!list[throttles->count])
		return false;
	throttles->count++;
	return true;
}

static void drop(struct throttles *throttles, struct named_throttle *named)
{
	size_t i = 0;

	while (throttles->list[i] != named)
		i++;
	throttles->count--;
	memmove(&throttles->list[i], &throttles->list[i + 1],
		(throttles->count - i) * sizeof *throttles->list);
	/* What the other one of its name starts is not in its files. */
	if (throttles_find(throttles, text_from(named->name)) && named->log) {
		throttle_log_remove(named->log);
		named->log = NULL;
	}
	free_named(named);
}

void throttles_release(struct throttles *throttles)
{
	for (size_t i = 0; i < throttles->count; i++)
		free_named(throttles->list[i]);
	free(throttles->list);
	if (throttles->folder && throttles->folder->fd >= 0)
		close(throttles->folder->fd);
	free(throttles->folder);
	*throttles = (struct throttles){0};
}

/* ---------- pools ---------- */

static bool counts_as(const struct named_throttle *named, const struct config_throttle *config)
{
	return are_same(named->key, config->key) && named->scope == config->scope;
}

/* The starts by another key, or of another scope, say nothing. */
static struct named_throttle *find_as_defined(
	const struct throttles *throttles, const struct config_throttle *config)
{
	struct named_throttle *named = throttles_find(throttles, text_from(config->name));

	return named && counts_as(named, config) ? named : NULL;
}

/* A pool that drains uses it, and meanwhile another key was configured: it is the latest again. */
static bool find_again(struct throttles *throttles, const struct config_throttle *config)
{
	for (size_t i = 0; i < throttles->count; i++) {
		struct named_throttle *named = throttles->list[i];
		if (strcmp(named->name, config->name) != 0 || !counts_as(named, config))
			continue;
		memmove(&throttles->list[i], &throttles->list[i + 1],
			(throttles->count - i - 1) * sizeof *throttles->list);
		throttles->list[throttles->count - 1] = named;
		return true;
	}
	return false;
}

bool throttles_define(struct throttles *throttles, const struct config *config)
{
	throttles->config = config;
	for (size_t i = 0; i < config->pool_count; i++)
		for (char *const *name = config->pools[i].throttle; name && *name; name++) {
			const struct config_throttle *other = config_find_throttle(config, *name);
			if (!find_as_defined(throttles, other) && !find_again(throttles, other) &&
				!add(throttles, other))
				return false;
		}
	return true;
}

void throttles_drop_unused(struct throttles *throttles)
{
	for (size_t i = throttles->count; i > 0; i--)
		if (throttles->list[i - 1]->pools == 0)
			drop(throttles, throttles->list[i - 1]);
}

static struct pool_throttle hold(struct throttles *throttles, const char *name)
{
	static const enum throttle_excess excess[] = {
		[CONFIG_EXCEEDED_DELAY] = THROTTLE_DELAY,
		[CONFIG_EXCEEDED_REPLY] = THROTTLE_REPLY,
		[CONFIG_EXCEEDED_DEAD_LETTER] = THROTTLE_DEAD_LETTER,
	};
	const struct config_throttle *config = config_find_throttle(throttles->config, name);
	struct named_throttle *named = find_as_defined(throttles, config);

	assert(named);
	named->pools++;
	return (struct pool_throttle){.throttle = named->throttle,
		.name = named->name,
		.has_key = named->key != NULL,
		.excess = excess[config->when_exceeded]};
}

void throttles_hold(struct throttles *throttles, char *const *names, struct pool_config *config)
{
	config->throttle_count = 0;
	for (; names && *names; names++)
		config->throttles[config->throttle_count++] = hold(throttles, *names);
	if (config->throttle_count > 0)
		config->pipeline = 1;
}

static struct named_throttle *named_of(
	const struct throttles *throttles, const struct pool_throttle *throttle)
{
	size_t i = 0;

	while (throttles->list[i]->throttle != throttle->throttle)
		i++;
	return throttles->list[i];
}

/* check-config refuses what key_source_parse_throttle refuses. */
struct throttle_keys throttles_keys(
	const struct throttles *throttles, const struct pool_config *config)
{
	struct throttle_keys keys = {.count = config->throttle_count};

	for (uint8_t i = 0; i < config->throttle_count; i++) {
		const struct named_throttle *named = named_of(throttles, &config->throttles[i]);
		const char *problem = NULL;
		keys.of[i].throttle = named->throttle;
		if (named->key)
			problem = key_source_parse_throttle(
				text_from(named->key), &keys.of[i].source);
		assert(!problem);
	}
	return keys;
}

void throttles_let_go(struct throttles *throttles, const struct pool_config *config)
{
	for (uint8_t i = 0; i < config->throttle_count; i++) {
		struct named_throttle *named = named_of(throttles, &config->throttles[i]);
		if (--named->pools == 0)
			drop(throttles, named);
	}
}

/* ---------- turns ---------- */

void throttles_save(struct throttles *throttles, mtime now)
{
	for (size_t i = 0; i < throttles->count; i++)
		if (throttles->list[i]->log)
			throttle_log_save(
				throttles->list[i]->log, throttles->list[i]->throttle, now);
}

void throttles_end_turn(struct throttles *throttles, mtime now)
{
	for (size_t i = 0; i < throttles->count; i++) {
		throttle_end_turn(throttles->list[i]->throttle, now);
		if (throttles->list[i]->log)
			throttle_log_end_turn(throttles->list[i]->log, now);
	}
}

/* The notice has the name that its pool got from here. */
void throttles_count(struct throttles *throttles, const struct notice *notice)
{
	for (size_t i = 0; i < throttles->count; i++) {
		struct named_throttle *named = throttles->list[i];
		if (named->name != notice->what)
			continue;
		named->postponed += notice->kind == NOTICE_TASK_POSTPONED;
		named->refused += notice->kind == NOTICE_TASK_REFUSED;
	}
}

/* ---------- leaders ---------- */

enum throttle_leader throttles_leader(const struct named_throttle *named)
{
	struct member_facts facts = member_facts(named->member, throttles_now());

	if (named->is_blocked)
		return THROTTLE_LEADER_NONE;
	if (facts.is_leading)
		return THROTTLE_LEADER_HERE;
	if (!facts.grants.is_up || facts.grants.unanswered >= UNANSWERED_MAX)
		return THROTTLE_LEADER_NONE;
	return facts.grants.heard_at == MTIME_NEVER ? THROTTLE_LEADER_UNKNOWN
						    : THROTTLE_LEADER_ELSEWHERE;
}

const char *throttle_leader_name(enum throttle_leader leader)
{
#define X(leader, text) [leader] = (text),
	static const char *const names[] = {THROTTLE_LEADERS(X)};
#undef X

	return names[leader];
}

const char *throttles_without_leader(
	const struct throttles *throttles, const struct pool_config *config)
{
	for (uint8_t i = 0; i < config->throttle_count; i++) {
		const struct named_throttle *named = named_of(throttles, &config->throttles[i]);
		if (named->member && throttles_leader(named) == THROTTLE_LEADER_NONE)
			return named->name;
	}
	return NULL;
}

bool throttles_is_silent(const struct throttles *throttles, const char *name)
{
	for (size_t i = 0; i < throttles->count; i++) {
		const struct named_throttle *named = throttles->list[i];
		if (named->name == name && named->member)
			return throttles_leader(named) != THROTTLE_LEADER_NONE &&
			       throttle_is_unsure(named->throttle, throttles_now());
	}
	return false;
}

/* ---------- figures ---------- */

struct named_throttle *throttles_find(const struct throttles *throttles, struct text name)
{
	for (size_t i = throttles->count; i > 0; i--)
		if (text_is(name, text_from(throttles->list[i - 1]->name)))
			return throttles->list[i - 1];
	return NULL;
}

bool throttles_is_latest(const struct throttles *throttles, const struct named_throttle *named)
{
	return throttles_find(throttles, text_from(named->name)) == named;
}

/* A shared one may have got a limit that would take more than it may. */
static uint64_t memory_of(
	const struct named_throttle *named, const struct throttle_figures *figures)
{
	uint64_t memory = config_throttle_memory(figures->limit, figures->max_keys);
	uint64_t of_one = config_throttle_memory(figures->limit, 1);

	if (!named->member || memory <= named->memory)
		return memory;
	return named->memory > of_one ? named->memory : of_one;
}

static uint64_t memory_of_others(
	const struct throttles *throttles, const struct named_throttle *named)
{
	uint64_t memory = 0;

	for (size_t i = 0; i < throttles->count; i++)
		if (throttles->list[i] != named)
			memory += memory_of(throttles->list[i], &throttles->list[i]->wanted);
	return memory;
}

static bool fits(const struct throttles *throttles, const struct named_throttle *named,
	const struct throttle_figures *figures)
{
	uint64_t memory = memory_of_others(throttles, named);

	memory += config_throttle_memory(figures->limit, figures->max_keys);
	return memory <= CONFIG_THROTTLES_MEMORY;
}

static void log_keys(struct named_throttle *named)
{
	uint32_t keys = member_keys_led(named->member), max_keys = named->wanted.max_keys;

	if (keys != named->keys_led && keys < max_keys)
		log_warn("throttle %s: at most %" PRIu32 " keys while it leads, not %" PRIu32
			 ": with the limit of %" PRIu32 ", which all supervisors share, the starts "
			 "of all throttles would take more than 64 MiB",
			named->name, keys, max_keys, named->wanted.limit);
	named->keys_led = keys;
}

/* All agree on the limit, so it is not this supervisor's to give up. */
static void share_memory(const struct throttles *throttles, struct named_throttle *named)
{
	uint64_t others = memory_of_others(throttles, named);

	named->memory = others < CONFIG_THROTTLES_MEMORY ? CONFIG_THROTTLES_MEMORY - others : 0;
	member_set_keys(named->member, named->wanted.max_keys,
		named->memory / config_throttle_memory(1, 1));
	log_keys(named);
}

static void share_figures(const struct throttles *throttles, struct named_throttle *named,
	const struct throttle_figures *figures)
{
	struct shared_figures shared = member_figures(named->member);

	if (figures->limit != shared.limit || figures->period != shared.period)
		member_set(named->member, figures->limit, figures->period);
	share_memory(throttles, named);
}

static void append_figures(struct buf *out, uint32_t limit, mtime period)
{
	buf_printf(out, "%" PRIu32 " in ", limit);
	quantity_append_duration(out, period);
}

/* A silence is why nothing starts, and an orderly change has none. */
static void log_leader(struct named_throttle *named, mtime now)
{
	struct member_facts facts = member_facts(named->member, now);

	if (facts.is_leading == named->has_led || now < named->leader_logged_until)
		return;
	named->has_led = facts.is_leading;
	named->leader_logged_until = now + LEADER_LOGGED_EVERY;
	if (!facts.is_leading)
		log_info("throttle %s: another supervisor leads, or none does", named->name);
	else if (facts.is_silent)
		log_info("throttle %s: leads, and grants no start for %.1f s, because what was "
			 "granted before is not known",
			named->name, (double)(named->wanted.period + LEASE_MAX) / MTIME_SECOND);
	else
		log_info("throttle %s: leads", named->name);
}

void throttles_follow(struct throttles *throttles, struct named_throttle *named, mtime now)
{
	struct shared_figures shared = member_figures(named->member);
	struct buf agreed, configured;
	bool is_new = shared.limit != named->wanted.limit || shared.period != named->wanted.period;

	log_leader(named, now);
	named->wanted.limit = shared.limit;
	named->wanted.period = shared.period;
	share_memory(throttles, named);
	if (!is_new)
		return;
	buf_init(&agreed, 128);
	buf_init(&configured, 128);
	append_figures(&agreed, shared.limit, shared.period);
	append_figures(&configured, named->configured.limit, named->configured.period);
	if (shared.limit == named->configured.limit && shared.period == named->configured.period)
		log_info("throttle %s: %.*s from now on, at all supervisors, as configured here",
			named->name, TEXT_ARGS(buf_text(&agreed)));
	else
		log_warn(
			"throttle %s: %.*s from now on, at all supervisors; configured here: %.*s "
			"(wpool throttle sets it for all, and so does a reload with another figure)",
			named->name, TEXT_ARGS(buf_text(&agreed)),
			TEXT_ARGS(buf_text(&configured)));
	buf_release(&agreed);
	buf_release(&configured);
}

/* A record that begins now has none of the starts before. */
static void use_figures(struct throttles *throttles, struct named_throttle *named,
	const struct throttle_figures *figures)
{
	mtime now = throttles_now();
	enum throttle_past past;

	named->wanted = *figures;
	if (named->member) {
		share_figures(throttles, named, figures);
		return;
	}
	throttle_configure(named->throttle, figures);
	if (!is_recorded(figures) && named->log) {
		throttle_log_remove(named->log);
		named->log = NULL;
	} else if (is_recorded(figures) && !named->log && find_folder(throttles)) {
		named->log = open_log(throttles, named, now, &past);
		if (named->log)
			throttle_log_begin(named->log, named->throttle, now, now);
		else
			log_warn("out of memory: the starts of throttle %s are not recorded",
				named->name);
	}
}

/* What an operator has set stays where the configuration names what it did before. */
static void want_configured(struct named_throttle *named, const struct config_throttle *config)
{
	struct throttle_figures other = figures_of(config);

	if (other.limit != named->configured.limit)
		named->wanted.limit = other.limit;
	if (other.period != named->configured.period)
		named->wanted.period = other.period;
	named->wanted.max_keys = other.max_keys;
	named->configured = other;
	named->when_exceeded = config->when_exceeded;
}

/* The configured limits fit. */
static void give_up_limit(struct named_throttle *named)
{
	log_warn("throttle %s: the limit of %" PRIu32
		 " that was set by hand is given up, and is %" PRIu32
		 " as configured: with it the starts of all throttles would take more than 64 MiB",
		named->name, named->wanted.limit, named->configured.limit);
	named->wanted.limit = named->configured.limit;
}

void throttles_configure(struct throttles *throttles)
{
	/* Else it would set again what other supervisors have replaced a moment ago. */
	for (size_t i = 0; i < throttles->count; i++)
		if (throttles->list[i]->member)
			throttles_follow(throttles, throttles->list[i], throttles_now());
	for (size_t i = 0; i < throttles->config->throttle_count; i++) {
		const struct config_throttle *config = &throttles->config->throttles[i];
		struct named_throttle *named = find_as_defined(throttles, config);
		if (named)
			want_configured(named, config);
	}
	for (size_t i = 0; i < throttles->count; i++) {
		struct named_throttle *named = throttles->list[i];
		if (!named->member && named->wanted.limit > named->configured.limit &&
			!fits(throttles, named, &named->wanted))
			give_up_limit(named);
	}
	for (size_t i = 0; i < throttles->count; i++)
		use_figures(throttles, throttles->list[i], &throttles->list[i]->wanted);
}

const char *throttles_set(
	struct throttles *throttles, struct named_throttle *named, uint32_t limit, mtime period)
{
	struct throttle_figures figures = *throttle_figures(named->throttle);

	if (limit > 0)
		figures.limit = limit;
	if (period > 0)
		figures.period = period;
	if (figures.limit > THROTTLE_LIMIT_MAX)
		return "limit is 1 to 1000000";
	if (figures.period < CONFIG_PERIOD_MIN || figures.period > CONFIG_PERIOD_MAX)
		return "period is 1ms to 365d";
	if (named->member && figures.period < CONFIG_SHARED_PERIOD_MIN)
		return "period is 500ms to 365d with scope: cluster";
	/* Others may have set one that does not fit here: a lower one is better. */
	if (limit > throttle_figures(named->throttle)->limit && !fits(throttles, named, &figures))
		return "the starts of all throttles, of as many keys as each may have, would take "
		       "more than 64 MiB";
	use_figures(throttles, named, &figures);
	return NULL;
}
