#include "config/check.h"

#include "config/listen.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MOST = 64, QUEUE_MOST = 255 };

static const char dead_suffix[] = ".dead";
/* The longest that a retry queue's name has behind the pool's queue. */
static const char retry_suffix[] = ".retry.86399999ms";

/* Where to tell what is wrong with a setting: its own place, or the pool's. */
static struct place place_of(const struct draft *draft, const char *key)
{
	const struct place *given = draft_given(draft, key);
	return given ? *given : draft->place;
}

/* Those this process may run on; without that knowledge, those that are there. */
static int64_t count_processors(void)
{
	cpu_set_t processors;
	long count = sched_getaffinity(0, sizeof processors, &processors) == 0
			     ? CPU_COUNT(&processors)
			     : sysconf(_SC_NPROCESSORS_ONLN);
	if (count < 1)
		return 1;
	return count < CONFIG_WORKERS_MAX ? count : CONFIG_WORKERS_MAX;
}

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '-';
}

static void derive_name(struct draft *draft, struct config_pool *pool)
{
	pool->name = strndup(pool->queue, NAME_MOST);
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
			problems_add(draft->problems, place_of(draft, "name"),
				"%sname holds something else than letters, digits, '.', '_' and "
				"'-'",
				draft->prefix);
			return;
		}
	}
}

static void derive_dead_letter(struct draft *draft, struct config_pool *pool)
{
	size_t size = strlen(pool->queue) + sizeof dead_suffix;
	if (size - 1 > QUEUE_MOST) {
		problems_add(draft->problems, place_of(draft, "queue"),
			"%sretry.dead_letter is needed: the queue's name with \"%s\" is over 255 bytes",
			draft->prefix, dead_suffix);
		return;
	}
	pool->retry.dead_letter = malloc(size);
	if (pool->retry.dead_letter)
		snprintf(pool->retry.dead_letter, size, "%s%s", pool->queue, dead_suffix);
	else
		draft->problems->memory = true;
}

static void check_dead_letter(struct draft *draft, const struct config_pool *pool)
{
	if (strcmp(pool->retry.dead_letter, pool->queue) == 0)
		problems_add(draft->problems, place_of(draft, "retry.dead_letter"),
			"%sretry.dead_letter is the pool's own queue; another one or broker is "
			"needed",
			draft->prefix);
}

static void check_delays(struct draft *draft, const struct config_pool *pool)
{
	if (pool->retry.delay.count > 0 &&
		strlen(pool->queue) + sizeof retry_suffix - 1 > QUEUE_MOST)
		problems_add(draft->problems, place_of(draft, "queue"),
			"%sretry.delay has to be []: the queue's name with \"%s\" would be over 255 "
			"bytes",
			draft->prefix, retry_suffix);
}

static void check_queue(struct draft *draft, struct config_pool *pool)
{
	if (!pool->queue) {
		if (!draft_given(draft, "queue"))
			problems_add(draft->problems, draft->place, "%squeue is missing%s",
				draft->prefix,
				draft->place.line ? "" : "; --queue NAME or QUEUENAME is needed");
		return;
	}
	if (!pool->name && !draft_given(draft, "name"))
		derive_name(draft, pool);
	if (!pool->retry.dead_letter && !draft_given(draft, "retry.dead_letter"))
		derive_dead_letter(draft, pool);
	if (pool->retry.dead_letter)
		check_dead_letter(draft, pool);
	check_delays(draft, pool);
}

static void check_command(struct draft *draft, const struct config_pool *pool)
{
	if (!pool->command && !draft_given(draft, "command"))
		problems_add(draft->problems, draft->place, "%scommand is missing%s", draft->prefix,
			draft->place.line ? ""
					  : "; -- COMMAND [ARG...] or WORKER_COMMAND is needed");
	else if (pool->command && !*pool->command[0])
		problems_add(draft->problems, place_of(draft, "command"),
			"%scommand begins with an empty text; a program is needed", draft->prefix);
}

/* by: the setting that implies another value of key than the one given. */
static void contradicts(struct draft *draft, const char *key, const char *by, const char *implied)
{
	const struct place *place = draft_given(draft, key);
	if (place)
		problems_add(draft->problems, *place, "%s%s contradicts %s, which needs %s",
			draft->prefix, key, by, implied);
}

/* Protocol.md 9: what the workers of the C# MessageWorkerPool can read. */
static void imply_corefx(struct draft *draft, struct config_pool *pool)
{
	static const char corefx[] = "pipe: corefx";
	if (pool->body != CONFIG_BODY_STR)
		contradicts(draft, "body", corefx, "str");
	if (pool->headers != CONFIG_HEADERS_TEXT)
		contradicts(draft, "headers", corefx, "text");
	if (pool->pipeline != 1)
		contradicts(draft, "pipeline", corefx, "1");
	pool->body = CONFIG_BODY_STR;
	pool->headers = CONFIG_HEADERS_TEXT;
	pool->pipeline = 1;
}

/* The line tells nothing of which task it is for: there must be one only. */
static void imply_interrupt(struct draft *draft, struct config_pool *pool)
{
	if (pool->pipeline != 1)
		contradicts(draft, "pipeline", "interrupt: true", "1");
	pool->pipeline = 1;
}

static void check_recycle(struct draft *draft, const struct config_pool *pool)
{
	if (pool->recycle.memory == MTIME_NEVER ||
		pool->recycle.memory_kill >= pool->recycle.memory)
		return;
	problems_add(draft->problems, place_of(draft, "recycle.memory_kill"),
		"%srecycle.memory_kill is less than recycle.memory; at least as much is needed",
		draft->prefix);
}

void check_root(struct draft *draft)
{
	const struct config *config = draft->base;
	struct listen_address address;
	struct buf shown;
	if (!config->http_listen || strcmp(config->http_listen, "off") == 0 ||
		listen_parse(text_from(config->http_listen), &address))
		return;
	buf_init(&shown, 1024);
	problems_quote(&shown, text_from(config->http_listen));
	if (shown.failed)
		draft->problems->memory = true;
	else
		problems_add(draft->problems, place_of(draft, "http.listen"),
			"http.listen is %.*s; an address in numbers and a port, such as "
			"127.0.0.1:9464 or [::1]:9464, or off is needed",
			TEXT_ARGS(buf_text(&shown)));
	buf_release(&shown);
}

void check_pool(struct draft *draft)
{
	struct config_pool *pool = draft->base;
	check_queue(draft, pool);
	check_command(draft, pool);
	if (pool->name)
		check_name(draft, pool);
	if (pool->workers == 0)
		pool->workers = pool->workers_most = count_processors();
	check_recycle(draft, pool);
	if (pool->pipe == PIPE_COREFX)
		imply_corefx(draft, pool);
	if (pool->interrupt)
		imply_interrupt(draft, pool);
}

void check_name_is_new(struct draft *draft, const struct config_pool *pools, size_t count)
{
	const struct config_pool *pool = draft->base;
	for (size_t i = 0; pool->name && i + 1 < count; i++) {
		if (pools[i].name && strcmp(pools[i].name, pool->name) == 0) {
			problems_add(draft->problems, place_of(draft, "name"),
				"%sname is that of pools[%zu], too; each pool needs its own",
				draft->prefix, i);
			return;
		}
	}
}
