#include "config/check.h"

#include "base/processors.h"
#include "config/check_session.h"
#include "config/dead_letter.h"
#include "config/url/listen.h"
#include "config/value/environment.h"
#include "config/value/nearest.h"
#include "config/value/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------- user, limits and environment ---------- */

/* Report `pools[0].umask is "99"`, or for a member `pools[0].rlimits: "x"`, followed by words. */
static void report_value(
	struct draft *draft, const char *key, const char *is, struct text value, const char *words)
{
	char shown[PROBLEMS_QUOTED_SIZE];
	problems_add(draft->problems, draft_place(draft, key), "%s%s%s %s%s",
		draft_prefix(draft, key), key, is, problems_quote(value, shown), words);
}

static void check_ids(struct draft *draft, struct config_pool *pool)
{
	const char *why;
	bool is_group;
	enum rc rc = rights_set_ids(&pool->rights, pool->user, pool->group, &why, &is_group);
	if (rc == RC_MEMORY)
		draft->problems->memory = true;
	else if (rc != RC_OK)
		report_value(draft, is_group ? "group" : "user", " is",
			text_from(is_group ? pool->group : pool->user), why);
}

static void check_mask(struct draft *draft, struct config_pool *pool)
{
	if (!pool->umask)
		return;
	pool->rights.has_mask = rights_read_mask(text_from(pool->umask), &pool->rights.mask);
	if (!pool->rights.has_mask)
		report_value(draft, "umask", " is", text_from(pool->umask),
			"; three octal digits, or four that begin with 0, are needed, such as 027");
}

/* ---------- maps ---------- */

static struct text name_of(const char *pair)
{
	return text_of(pair, strcspn(pair, "="));
}

static void report_unknown_limit(struct draft *draft, struct text name)
{
	const char *nearest = nearest_name(name, rights_limit_names);
	struct buf words;
	buf_init(&words, 1024);
	buf_printf(&words, " is unknown; %s", nearest ? "the nearest is " : "there are ");
	if (nearest)
		buf_append_text(&words, text_from(nearest));
	for (size_t i = 0; !nearest && rights_limit_names[i]; i++)
		buf_printf(&words, "%s%s", i > 0 ? ", " : "", rights_limit_names[i]);
	buf_append_byte(&words, '\0');
	if (words.failed)
		draft->problems->memory = true;
	else
		report_value(draft, "rlimits", ":", name, buf_text(&words).ptr);
	buf_release(&words);
}

/* The last one counts of a limit given twice, which only an environment variable can do. */
static void add_limit(struct rights *rights, const struct rights_limit *limit)
{
	size_t i = 0;
	while (i < rights->limit_count && rights->limits[i].resource != limit->resource)
		i++;
	rights->limits[i] = *limit;
	if (i == rights->limit_count)
		rights->limit_count++;
}

static void check_limits(struct draft *draft, struct config_pool *pool)
{
	for (char **pair = pool->rlimits; pair && *pair; pair++) {
		struct rights_limit limit;
		struct text name = name_of(*pair);
		struct text value = text_from(*pair + name.len + 1);
		enum rc rc = rights_read_limit(name, value, &limit);
		if (rc == RC_OK)
			add_limit(&pool->rights, &limit);
		else if (rc == RC_NOT_FOUND)
			report_unknown_limit(draft, name);
		else
			report_value(draft, "rlimits", ":", text_from(*pair),
				" has an invalid value; one value, or soft:hard with soft <= hard, is "
				"needed, such as 1024:4096 or unlimited");
	}
}

/* The value may be a secret, and so may text in the place of the name: neither is repeated. */
static void check_environment(struct draft *draft, const struct config_pool *pool)
{
	static const char *const own[] = {"WPOOL_WORKER", "WPOOL_POOL", "WPOOL_SLOT",
		"WPOOL_WORKERS", "WPOOL_CONCURRENCY", "WPOOL_TASK", "WPOOL_PRELOAD",
		"WPOOL_LAST_EXIT", NULL};

	for (char **pair = pool->env; pair && *pair; pair++)
		if (!environment_is_name(name_of(*pair)) || own[text_index(name_of(*pair), own)])
			problems_add(draft->problems, draft_place(draft, "env"),
				"%senv has an invalid name, or one that wpool sets itself; a name has "
				"letters, digits and '_' and does not begin with a digit",
				draft_prefix(draft, "env"));
}

/* wpool's own win: a queue without them would lose tasks, or the order of sessions. */
static void check_queue_arguments(struct draft *draft, const struct config_pool *pool)
{
	static const char *const own[] = {
		"x-queue-type", "x-delivery-limit", "x-single-active-consumer", NULL};

	for (char **pair = pool->queue_arguments; pair && *pair; pair++) {
		struct text name = name_of(*pair);
		const char *words = NULL;
		for (size_t i = 0; own[i]; i++)
			if (text_is(name, text_from(own[i])))
				words = " is set by wpool itself, which declares a quorum queue";
		if (text_is(name, TEXT("x-max-priority")))
			words = " is of classic queues; a quorum queue has two priorities without it, "
				"from RabbitMQ 4 on";
		else if (!text_starts(name, TEXT("x-")))
			words = " is no argument of a queue: their names begin with x-";
		else if (name.len > CONFIG_QUEUE_ARGUMENT_NAME_MAX ||
			 strlen(*pair) - name.len - 1 > CONFIG_QUEUE_ARGUMENT_VALUE_MAX)
			words = " is too long";
		if (words)
			report_value(draft, "queue_arguments", ":", name, words);
	}
	if (pool->queue_arguments &&
		words_count(pool->queue_arguments) > CONFIG_QUEUE_ARGUMENTS_MAX)
		problems_add(draft->problems, draft_place(draft, "queue_arguments"),
			"%squeue_arguments has more than %d arguments",
			draft_prefix(draft, "queue_arguments"), CONFIG_QUEUE_ARGUMENTS_MAX);
}

static bool is_pattern(struct text word)
{
	if (word.len > 0 && word.ptr[word.len - 1] == '*')
		word.len--;
	return word.len == 0 || environment_is_name(word);
}

static void check_passed(struct draft *draft, const struct config_pool *pool)
{
	for (char **word = pool->env_pass; word && *word; word++)
		if (!is_pattern(text_from(*word)))
			report_value(draft, "env_pass", ":", text_from(*word),
				" is neither the name of a variable nor a prefix with a * at the end");
}

static void check_rights(struct draft *draft, bool is_for_other_process)
{
	struct config_pool *pool = draft->base;
	struct buf lack;
	check_ids(draft, pool);
	check_mask(draft, pool);
	check_limits(draft, pool);
	check_environment(draft, pool);
	check_passed(draft, pool);
	check_queue_arguments(draft, pool);
	pool->rights.nice = (int)pool->nice;
	pool->rights.is_confined = !pool->new_privs;
	buf_init(&lack, 1024);
	if (!is_for_other_process && rights_append_missing(&pool->rights, &lack))
		problems_add(draft->problems, draft->place, "%s%.*s", draft->prefix,
			TEXT_ARGS(buf_text(&lack)));
	buf_release(&lack);
}

enum { NAME_MAX_BYTES = 64, QUEUE_NAME_MAX = 255 };

/* The longest suffix of a retry queue's name. */
static const char retry_suffix[] = ".retry.86399999ms";

static int64_t count_processors(void)
{
	struct processors processors;
	processors_find(&processors, "");
	uint32_t count = processors_count(&processors);
	return count < CONFIG_WORKERS_MAX ? count : CONFIG_WORKERS_MAX;
}

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '-';
}

static void derive_name(struct draft *draft, struct config_pool *pool)
{
	pool->name = strndup(pool->queue, NAME_MAX_BYTES);
	if (!pool->name) {
		draft->problems->memory = true;
		return;
	}
	for (char *c = pool->name; *c; c++)
		if (!is_name_byte(*c))
			*c = '-';
}

static void check_name(struct draft *draft, const struct config_pool *pool)
{
	for (const char *c = pool->name; *c; c++) {
		if (!is_name_byte(*c)) {
			problems_add(draft->problems, draft_place(draft, "name"),
				"%sname has a character other than letters, digits, '.', '_' and '-'",
				draft->prefix);
			return;
		}
	}
}

static void derive_dead_letter(struct draft *draft, struct config_pool *pool)
{
	size_t size = strlen(pool->queue) + sizeof DEAD_LETTER_SUFFIX;
	if (size - 1 > QUEUE_NAME_MAX) {
		problems_add(draft->problems, draft_place(draft, "queue"),
			"%sretry.dead_letter is needed: the queue's name with \"%s\" is over 255 bytes",
			draft->prefix, DEAD_LETTER_SUFFIX);
		return;
	}
	pool->retry.dead_letter = malloc(size);
	if (pool->retry.dead_letter)
		snprintf(pool->retry.dead_letter, size, "%s" DEAD_LETTER_SUFFIX, pool->queue);
	else
		draft->problems->memory = true;
}

static void check_queue(struct draft *draft, struct config_pool *pool)
{
	if (!pool->queue) {
		if (!draft_given(draft, "queue"))
			problems_add(draft->problems, draft->place, "%squeue is missing%s",
				draft->prefix,
				draft->place.line
					? ""
					: "; --queue NAME or the variable QUEUENAME is needed");
		return;
	}
	if (!pool->name && !draft_given(draft, "name"))
		derive_name(draft, pool);
	if (!pool->retry.dead_letter && !draft_given(draft, "retry.dead_letter"))
		derive_dead_letter(draft, pool);
	if (pool->retry.dead_letter && strcmp(pool->retry.dead_letter, pool->queue) == 0)
		problems_add(draft->problems, draft_place(draft, "retry.dead_letter"),
			"%sretry.dead_letter is the pool's own queue; another one or broker is "
			"needed",
			draft->prefix);
	if (pool->retry.delay.count > 0 &&
		strlen(pool->queue) + sizeof retry_suffix - 1 > QUEUE_NAME_MAX)
		problems_add(draft->problems, draft_place(draft, "queue"),
			"%sretry.delay must be []: the queue's name with \"%s\" would be over 255 "
			"bytes",
			draft->prefix, retry_suffix);
}

/* A pool's own program replaces that of the file's defaults, also where it is the other kind. */
static void choose_program(struct draft *draft, struct config_pool *pool)
{
	const struct place *command = draft_given(draft, "command");
	const struct place *preload = draft_given(draft, "preload");
	if (!command || !preload)
		return;
	if (command->is_of_defaults == preload->is_of_defaults)
		problems_add(draft->problems, *preload,
			"%spreload is given together with command; one of them is needed",
			draft_prefix(draft, "preload"));
	char ***unused = command->is_of_defaults ? &pool->command : &pool->preload;
	words_free(*unused);
	*unused = NULL;
}

static void check_program(struct draft *draft, const struct config_pool *pool)
{
	char **program = config_pool_program(pool);
	const char *key = pool->preload ? "preload" : "command";
	if (!program && !draft_given(draft, "command") && !draft_given(draft, "preload"))
		problems_add(draft->problems, draft->place, "%scommand is missing%s", draft->prefix,
			draft->place.line
				? ""
				: "; -- COMMAND [ARG...] or the variable WORKER_COMMAND is needed");
	else if (program && !*program[0])
		problems_add(draft->problems, draft_place(draft, key),
			"%s%s begins with an empty text; a program is needed",
			draft_prefix(draft, key), key);
}

static void imply_one_in_pipe(struct draft *draft, struct config_pool *pool, const char *by)
{
	if (pool->pipeline != 1)
		draft_contradiction(draft, "pipeline", by, "1");
	pool->pipeline = 1;
}

/* PROTOCOL.md, section 15: what the workers of the C# MessageWorkerPool can read. */
static void imply_corefx(struct draft *draft, struct config_pool *pool)
{
	static const char corefx[] = "pipe: corefx";
	if (pool->body != CONFIG_BODY_STR)
		draft_contradiction(draft, "body", corefx, "str");
	if (pool->headers != CONFIG_HEADERS_TEXT)
		draft_contradiction(draft, "headers", corefx, "text");
	imply_one_in_pipe(draft, pool, corefx);
	pool->body = CONFIG_BODY_STR;
	pool->headers = CONFIG_HEADERS_TEXT;
	/* Their tasks have no id. */
	if (pool->concurrency != 1)
		draft_contradiction(draft, "concurrency", corefx, "1");
	if (pool->limits.on_soft == CONFIG_SOFT_CANCEL)
		draft_contradiction(draft, "limits.on_soft", corefx, "nothing or context-switch");
}

/* Without concurrency a context switch does not name a task, so a worker may have only one. */
static void check_soft_action(struct draft *draft, struct config_pool *pool)
{
	static const char *const by[] = {
		[CONFIG_SOFT_CONTEXT_SWITCH] = "limits.on_soft: context-switch",
		[CONFIG_SOFT_CANCEL] = "limits.on_soft: cancel"};
	static const char interrupt[] = "interrupt: true";
	if (pool->interrupt && pool->limits.on_soft != CONFIG_SOFT_CONTEXT_SWITCH) {
		draft_contradiction(draft, "limits.on_soft", interrupt, "context-switch");
		pool->limits.on_soft = CONFIG_SOFT_CONTEXT_SWITCH;
	}
	if (pool->limits.on_soft != CONFIG_SOFT_NOTHING)
		imply_one_in_pipe(
			draft, pool, pool->interrupt ? interrupt : by[pool->limits.on_soft]);
	pool->interrupt = pool->limits.on_soft == CONFIG_SOFT_CONTEXT_SWITCH;
}

/* Letters, digits, '.', '_' and '-': a name as DNS and container networks have it. */
static bool is_host_name(const char *name)
{
	for (; *name && is_name_byte(*name); name++)
		;
	return !*name;
}

static void check_hosts(struct draft *draft, const struct config *config)
{
	char shown[PROBLEMS_QUOTED_SIZE];
	for (char **name = config->http_hosts; name && *name; name++)
		if (!**name || !is_host_name(*name))
			problems_add(draft->problems, draft_place(draft, "http.hosts"),
				"http.hosts: %s is no host name; a whole name without a port is "
				"needed, such as wpool.example.org",
				problems_quote(text_from(*name), shown));
}

void check_root(struct draft *draft)
{
	const struct config *config = draft->base;
	struct text listen = text_from(config->http_listen);
	struct listen_address address;
	gid_t group;
	char shown[PROBLEMS_QUOTED_SIZE];
	if (config->http_listen && !text_is(listen, TEXT("off")) && !listen_parse(listen, &address))
		problems_add(draft->problems, draft_place(draft, "http.listen"),
			"http.listen is %s; a numeric address and a port, such as 127.0.0.1:9464 or "
			"[::1]:9464, or off is needed",
			problems_quote(listen, shown));
	check_hosts(draft, config);
	if (config->control_group && !rights_find_group(config->control_group, &group))
		problems_add(draft->problems, draft_place(draft, "control.group"),
			"control.group is %s, which this machine has no group of; a group's name or "
			"number is needed",
			problems_quote(text_from(config->control_group), shown));
}

void check_pool(struct draft *draft, bool is_for_other_process)
{
	struct config_pool *pool = draft->base;
	check_queue(draft, pool);
	choose_program(draft, pool);
	check_program(draft, pool);
	if (pool->name)
		check_name(draft, pool);
	if (pool->workers == 0)
		pool->workers = pool->workers_max = count_processors();
	if (pool->recycle.memory != MTIME_NEVER && pool->recycle.memory_kill < pool->recycle.memory)
		problems_add(draft->problems, draft_place(draft, "recycle.memory_kill"),
			"%srecycle.memory_kill is less than recycle.memory; at least as much is "
			"needed",
			draft->prefix);
	if (pool->pipe == PIPE_COREFX)
		imply_corefx(draft, pool);
	if (pool->concurrency > 1)
		imply_one_in_pipe(draft, pool, "a concurrency above 1");
	check_soft_action(draft, pool);
	check_session(draft);
	check_rights(draft, is_for_other_process);
}

void check_name_is_new(struct draft *draft, const struct config_pool *pools, size_t count)
{
	const struct config_pool *pool = draft->base;
	char shown[PROBLEMS_QUOTED_SIZE];
	for (size_t i = 0; pool->name && i + 1 < count; i++) {
		if (pools[i].name && strcmp(pools[i].name, pool->name) == 0) {
			problems_add(draft->problems, draft_place(draft, "name"),
				"%sname is %s, as that of pools[%zu]; %s", draft->prefix,
				problems_quote(text_from(pool->name), shown), i,
				draft_given(draft, "name")
					? "each pool needs its own"
					: "it comes from the queue, so set name");
			return;
		}
	}
}
