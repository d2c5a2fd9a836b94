#include "config/config.h"

#include "config/check.h"
#include "config/check_session.h"
#include "config/check_throttles.h"
#include "config/url/addresses.h"
#include "config/url/secrets.h"
#include "config/value/values.h"
#include "config/value/words.h"
#include "config/warnings.h"
#include "config/yaml/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POOLS_MAX = 1000 };

/* ---------- flags ---------- */

struct flag {
	const char *key;
	const char *value;
};

/* The flags of a pool, without the command. */
struct pool_flags {
	struct flag list[7];
};

static struct pool_flags pool_flags_of(const struct config_flags *flags)
{
	return (struct pool_flags){{
		{"queue", flags->queue},
		{"workers", flags->workers},
		{"prefetch", flags->prefetch},
		{"pipeline", flags->pipeline},
		{"concurrency", flags->concurrency},
		{"pipe", flags->pipe},
		{"declare", flags->declare},
	}};
}

#define POOL_FLAGS (sizeof(struct pool_flags) / sizeof(struct flag))

static void add_flag(struct draft *draft, struct flag flag)
{
	const struct setting *setting = settings_find(draft->scope, flag.key);
	if (flag.value)
		draft_set(draft, setting, text_from(flag.value), TEXT_NONE,
			place_typed(setting->flag));
}

static void add_command(struct draft *draft, char *const *command)
{
	struct config_pool *pool = draft->base;
	struct place place = place_typed("the command after --");
	const struct setting *setting = settings_find(SETTING_POOL, "command");
	char **words = NULL;
	enum rc rc = RC_OK;
	for (size_t i = 0; command[i] && rc == RC_OK; i++)
		rc = words_append(&words, text_from(command[i]));
	draft_note(draft, setting, place);
	if (rc == RC_OK && words) {
		words_free(pool->command);
		pool->command = words;
		return;
	}
	words_free(words);
	if (rc == RC_MEMORY)
		draft->problems->memory = true;
	else
		draft_wrong(draft, setting, rc == RC_OK ? "empty" : "too long", place);
}

static void refuse_one(struct problems *problems, const char *name, const char *file)
{
	problems_add(problems, place_typed(name),
		"not together with a file, which has the pools; %s is the place for it", file);
}

/* The file has the pools, and nothing says which of them a flag is for. */
static void refuse_pool_flags(const struct config_flags *flags, struct problems *problems)
{
	struct pool_flags given = pool_flags_of(flags);
	for (size_t i = 0; i < POOL_FLAGS; i++)
		if (given.list[i].value)
			refuse_one(problems, settings_find(SETTING_POOL, given.list[i].key)->flag,
				flags->file);
	if (flags->command)
		refuse_one(problems, "the command after --", flags->file);
}

/* ---------- one load ---------- */

struct load {
	const struct config_flags *flags;
	char *const *environment;
	struct config *config;
	struct problems *problems;
	struct tree *file; /* owned; NULL: there is none */
	struct draft root;
	struct draft pool;      /* without a file */
	bool has_all_throttles; /* false: a problem hides some of the file's */
};

/* Add a zeroed pool; NULL: out of memory. */
static struct config_pool *new_pool(struct load *load)
{
	struct config *config = load->config;
	struct config_pool *pools =
		realloc(config->pools, (config->pool_count + 1) * sizeof *pools);
	if (!pools) {
		load->problems->memory = true;
		return NULL;
	}
	config->pools = pools;
	pools[config->pool_count] = (struct config_pool){0};
	return &pools[config->pool_count++];
}

static void load_pool(
	struct load *load, const struct tree *node, const struct tree *defaults, size_t index)
{
	struct draft draft;
	char prefix[32];
	struct config_pool *pool = new_pool(load);
	if (!pool)
		return;
	pool->line = node->line;
	draft_init(&draft, SETTING_POOL, pool, load->problems,
		place_line(load->flags->file, node->line));
	draft.secrets = load->config->secrets;
	snprintf(prefix, sizeof prefix, "pools[%zu].", index);
	draft.prefix = prefix;
	file_read_pool(&draft, node, defaults);
	check_pool(&draft, load->flags->is_for_other_process);
	check_pool_throttles(&draft, load->config, load->has_all_throttles);
	check_name_is_new(&draft, load->config->pools, load->config->pool_count);
	check_session_is_alone(&draft, load->config->pools, load->config->pool_count);
}

static void load_pools(struct load *load, const struct file_parts *file)
{
	const struct tree *pools = file->pools;
	size_t index = 0;
	if (!pools || pools->kind != TREE_LIST || !pools->first) {
		problems_add(load->problems, place_line(load->flags->file, pools ? pools->line : 0),
			"pools is %s; a list of pools is needed, each with queue and command",
			pools ? "no list, or empty" : "missing");
		return;
	}
	for (const struct tree *node = pools->first; node; node = node->next) {
		if (index >= POOLS_MAX) {
			problems_add(load->problems, place_line(load->flags->file, node->line),
				"there are more than %d pools", POOLS_MAX);
			return;
		}
		load_pool(load, node, file->defaults, index++);
	}
}

/* Add a zeroed throttle; NULL: out of memory. */
static struct config_throttle *new_throttle(struct load *load)
{
	struct config *config = load->config;
	struct config_throttle *throttles =
		realloc(config->throttles, (config->throttle_count + 1) * sizeof *throttles);
	if (!throttles) {
		load->problems->memory = true;
		return NULL;
	}
	config->throttles = throttles;
	throttles[config->throttle_count] = (struct config_throttle){0};
	return &throttles[config->throttle_count++];
}

/* False: it has no name. */
static bool load_throttle(struct load *load, const struct tree *node, size_t index)
{
	struct draft draft;
	char prefix[32];
	struct config_throttle *throttle = new_throttle(load);
	if (!throttle)
		return false;
	throttle->line = node->line;
	draft_init(&draft, SETTING_THROTTLE, throttle, load->problems,
		place_line(load->flags->file, node->line));
	draft.secrets = load->config->secrets;
	snprintf(prefix, sizeof prefix, "throttles[%zu].", index);
	draft.prefix = prefix;
	file_read_throttle(&draft, node);
	check_throttle(&draft, load->config->throttles, load->config->throttle_count);
	return throttle->name;
}

/* list: NULL: there is none. False: a problem hides the names of some. */
static bool load_throttles(struct load *load, const struct tree *list)
{
	bool is_complete = true;
	size_t index = 0;
	if (!list || tree_is_nothing(list))
		return true;
	if (list->kind != TREE_LIST) {
		if (!list->bad)
			problems_add(load->problems, place_line(load->flags->file, list->line),
				"throttles is no list; a list of throttles is needed, each with "
				"name, limit and period");
		return false;
	}
	for (const struct tree *node = list->first; node; node = node->next) {
		if (index >= CONFIG_THROTTLES_MAX) {
			problems_add(load->problems, place_line(load->flags->file, node->line),
				"there are more than %d throttles", CONFIG_THROTTLES_MAX);
			return false;
		}
		is_complete = load_throttle(load, node, index++) && is_complete;
	}
	return is_complete;
}

static enum rc load_file(struct load *load)
{
	struct file_parts parts;
	enum rc rc = file_read(load->flags->file, load->flags->is_reload, load->environment,
		&load->file, load->problems);
	if (rc != RC_OK)
		return rc;
	load->root.place = place_line(load->flags->file, 0);
	if (file_add_secrets(load->file, load->environment, &load->config->secrets) != RC_OK)
		load->problems->memory = true;
	load->root.secrets = load->config->secrets;
	file_read_root(&load->root, load->file, &parts);
	load->has_all_throttles = load_throttles(load, parts.throttles);
	check_throttle_memory(load->config, load->flags->file, load->problems);
	load_pools(load, &parts);
	refuse_pool_flags(load->flags, load->problems);
	return RC_OK;
}

static void load_one_pool(struct load *load)
{
	struct pool_flags given = pool_flags_of(load->flags);
	struct draft *draft = &load->pool;
	struct config_pool *pool = new_pool(load);
	if (!pool)
		return;
	draft_init(draft, SETTING_POOL, pool, load->problems, place_typed(NULL));
	draft_add_environment(draft, load->environment);
	for (size_t i = 0; i < POOL_FLAGS; i++)
		add_flag(draft, given.list[i]);
	if (load->flags->command)
		add_command(draft, load->flags->command);
	check_pool(draft, load->flags->is_for_other_process);
}

static void load_addresses(struct load *load)
{
	struct addresses addresses = {0};
	bool good = false;
	load->config->hosts_from = load->flags->broker ? "option"
				   : draft_given(&load->root, "broker.url")
					   ? "file"
					   : addresses_source(load->environment);
	if (load->flags->broker)
		draft_note(&load->root, settings_find(SETTING_ROOT, "broker.url"),
			place_typed("--broker"));
	if (load->flags->broker)
		good = addresses_add(&addresses, text_from(load->flags->broker), "the value",
			place_typed("--broker"), load->problems);
	else if (!draft_given(&load->root, "broker.url"))
		good = addresses_add_from_environment(
			&addresses, load->environment, load->problems);
	if (good)
		addresses_install(&addresses, load->config);
	addresses_release(&addresses);
}

static void load_password_file(struct load *load)
{
	struct config *config = load->config;
	const struct place *place = draft_given(&load->root, "broker.password_file");
	if (config->password_file)
		(void)addresses_set_password_file(config->hosts, config->host_count,
			config->password_file, load->environment, load->flags->is_for_other_process,
			*place, load->problems);
}

/* A stop cuts no task short that may still end. */
static mtime drain_of(const struct config *config)
{
	mtime longest = 0;
	for (size_t i = 0; i < config->pool_count; i++) {
		const struct config_pool *pool = &config->pools[i];
		longest = mtime_max(longest, pool->limits.hard + 2 * pool->limits.grace);
	}
	return mtime_min(longest, CONFIG_DRAIN_MAX);
}

static enum rc load_all(struct load *load)
{
	enum rc rc = RC_OK;
	draft_init(&load->root, SETTING_ROOT, load->config, load->problems, place_named("wpool"));
	draft_add_environment(&load->root, load->environment);
	if (load->flags->file)
		rc = load_file(load);
	else
		load_one_pool(load);
	if (rc != RC_OK)
		return rc;
	add_flag(&load->root, (struct flag){"log.level", load->flags->log_level});
	add_flag(&load->root, (struct flag){"log.format", load->flags->log_format});
	check_root(&load->root);
	load_addresses(load);
	load_password_file(load);
	if (secrets_add_named(&load->config->secrets, load->environment) != RC_OK ||
		secrets_add_containing(&load->config->secrets, load->config->hosts,
			load->config->host_count, load->environment) != RC_OK)
		load->problems->memory = true;
	if (!draft_given(&load->root, "drain"))
		load->config->drain = drain_of(load->config);
	/* AMQP heartbeats are whole seconds. */
	load->config->heartbeat =
		(load->config->heartbeat + MTIME_SECOND - 1) / MTIME_SECOND * MTIME_SECOND;
	return RC_OK;
}

static void add_warnings(const struct load *load)
{
	const struct config_source source = {load->config, load->file};
	warnings_add_variables(&(struct variable_uses){.environment = load->environment,
				       .file = load->file,
				       .root = &load->root,
				       .pool = load->file ? NULL : &load->pool},
		load->problems);
	warnings_add_dead_letters(&source, load->problems);
	warnings_add_empty_places(&source, load->problems);
	warnings_add_limits(&source, load->problems);
	warnings_add_sessions(&source, load->problems);
	warnings_add_throttles(&source, load->problems);
	warnings_add_rights(load->config, load->problems);
}

enum rc config_load(const struct config_flags *flags, char *const *environment, struct config **ret,
	struct problems *problems)
{
	struct load load = {.flags = flags,
		.environment = environment,
		.config = calloc(1, sizeof *load.config),
		.problems = problems};
	enum rc rc = load.config ? load_all(&load) : RC_MEMORY;
	if (rc == RC_MEMORY)
		problems->memory = true;
	if (rc == RC_OK && problems_verdict(problems) == RC_OK)
		add_warnings(&load);
	if (rc != RC_NOT_FOUND)
		rc = problems_verdict(problems);
	if (rc == RC_OK)
		*ret = load.config;
	else
		config_free(load.config);
	tree_free(load.file);
	return rc;
}

static void release_values(enum setting_scope scope, void *base)
{
	size_t count;
	const struct setting *setting = settings_of(scope, &count);
	for (; count > 0; count--, setting++)
		value_release(setting, base);
}

void config_pool_release(struct config_pool *pool)
{
	release_values(SETTING_POOL, pool);
	rights_release(&pool->rights);
}

const struct config_throttle *config_find_throttle(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->throttle_count; i++)
		if (config->throttles[i].name && strcmp(config->throttles[i].name, name) == 0)
			return &config->throttles[i];
	return NULL;
}

void config_free(struct config *config)
{
	if (!config)
		return;
	for (size_t i = 0; i < config->throttle_count; i++)
		release_values(SETTING_THROTTLE, &config->throttles[i]);
	free(config->throttles);
	for (size_t i = 0; i < config->pool_count; i++)
		config_pool_release(&config->pools[i]);
	release_values(SETTING_ROOT, config);
	free(config->pools);
	words_free(config->secrets);
	broker_urls_free(config->hosts, config->host_count);
	free(config);
}
