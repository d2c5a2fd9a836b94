#include "worker/worker_environment.h"

#include "config/url/secrets.h"
#include "os/rundir.h"
#include "process/mark.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a worker knows of its place, as entries one behind the other. check.c and warnings.c of
 * config have the names. */
#define PLACE_ENTRIES 5
#define PLACE_SIZE                                                                                 \
	(sizeof "WPOOL_PRELOAD=WPOOL_WORKERS=WPOOL_CONCURRENCY=WPOOL_POOL=WPOOL_TASK="             \
		"body: auto, headers: typed, properties: false" +                                  \
		3 * (TEXT_DECIMAL_MAX + 1) + 2)

struct list {
	char **entries;
	size_t count;
};

static size_t count_of(char *const *entries)
{
	size_t count = 0;
	while (entries && entries[count])
		count++;
	return count;
}

static size_t name_len(const char *entry)
{
	return strcspn(entry, "=");
}

/* Replace the entry of the same name, or append it. */
static void add_entry(struct list *list, char *entry)
{
	size_t len = name_len(entry), i = 0;
	while (i < list->count && strncmp(list->entries[i], entry, len + 1) != 0)
		i++;
	list->entries[i] = entry;
	if (i == list->count)
		list->count++;
}

static void add_entries(struct list *list, char *const *entries)
{
	for (; entries && *entries; entries++)
		add_entry(list, *entries);
}

/* pattern: "PATH", or "LC_*". */
static bool matches(const char *pattern, const char *entry)
{
	size_t len = strlen(pattern);
	if (len > 0 && pattern[len - 1] == '*')
		return strncmp(entry, pattern, len - 1) == 0;
	return len == name_len(entry) && strncmp(entry, pattern, len) == 0;
}

static bool is_passed(const struct workers_config *config, const char *entry)
{
	/* Where wpool is a worker itself, these are of another pool. */
	if (matches(MARK_NAME, entry) || matches("WPOOL_SLOT", entry) ||
		matches("WPOOL_PRELOAD", entry) || matches(LAST_EXIT_NAME, entry))
		return false;
	bool is_secret = config->secrets && secrets_has(*config->secrets, entry);
	for (char *const *word = config->passed; word && *word; word++)
		if (strcmp(*word, "all") == 0 || matches(*word, entry) ||
			(strcmp(*word, "auto") == 0 && !is_secret))
			return true;
	return !config->passed;
}

/* As the settings of the pool, so that a worker can name those that it lacks. */
static void add_task_form(struct list *list, const struct task_options *task, char *text)
{
	sprintf(text, "WPOOL_TASK=body: %s, headers: %s, properties: %s",
		task_body_words[task->body], task_headers_words[task->headers],
		task->properties ? "true" : "false");
	add_entry(list, text);
}

/* text: of PLACE_SIZE and the length of the pool's name. */
static void add_place(struct list *list, const struct workers_config *config, int slot, char *text)
{
	bool is_worker = slot >= 0;
	const char *const names[] = {
		is_worker ? "WPOOL_SLOT" : "WPOOL_PRELOAD", "WPOOL_WORKERS", "WPOOL_CONCURRENCY"};
	const unsigned numbers[] = {
		is_worker ? (unsigned)slot : 1, config->workers, config->concurrency};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		int len = sprintf(text, "%s=%u", names[i], numbers[i]);
		add_entry(list, text);
		text += len + 1;
	}
	int len = sprintf(text, "WPOOL_POOL=%s", config->pool);
	add_entry(list, text);
	add_task_form(list, &config->task, text + len + 1);
}

char **worker_environment_new(
	const struct workers_config *config, int slot, char *mark, char *last_exit)
{
	char *const *users = config->rights ? config->rights->variables : NULL;
	struct list list = {0};
	/* And TMPDIR, the mark, the last exit and NULL. */
	size_t size = count_of(environ) + count_of(users) + count_of(config->variables) +
		      PLACE_ENTRIES + 4;
	list.entries = calloc(1, size * sizeof *list.entries + PLACE_SIZE + strlen(config->pool));
	if (!list.entries)
		return NULL;
	for (char **entry = environ; *entry; entry++)
		if (is_passed(config, *entry))
			list.entries[list.count++] = *entry;
	add_entries(&list, users);
	add_entries(&list, config->variables);
	if (config->pipe == PIPE_COREFX) /* where such workers look for their pipe */
		add_entry(&list, (char *)"TMPDIR=" RUNDIR_OUTSIDE_FOLDER);
	add_place(&list, config, slot, (char *)(list.entries + size));
	add_entry(&list, mark);
	if (last_exit)
		add_entry(&list, last_exit);
	return list.entries;
}
