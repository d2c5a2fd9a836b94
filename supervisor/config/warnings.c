#include "config/warnings.h"

#include "config/settings.h"
#include "config/value/environment.h"
#include "config/value/nearest.h"
#include <stdlib.h>
#include <string.h>

/* A name that differs in more letters is another name, not a misspelling. */
enum { TYPO_DISTANCE_MAX = 2 };

static const struct text prefix = {"WPOOL_", 6};

/* The names of the settings' variables, without the prefix. */
struct names {
	const char *list[2 * SETTINGS_MAX + 1];
	size_t count;
};

static void collect(struct names *names)
{
	for (enum setting_scope scope = SETTING_ROOT; scope <= SETTING_POOL; scope++) {
		size_t count;
		const struct setting *setting = settings_of(scope, &count);
		for (; count > 0; count--, setting++)
			if (setting->variable && text_starts(text_from(setting->variable), prefix))
				names->list[names->count++] = setting->variable + prefix.len;
	}
}

void warnings_add_names(char *const *environment, struct problems *problems)
{
	struct names names = {0};
	collect(&names);
	for (; environment && *environment; environment++) {
		struct text name = text_of(*environment, strcspn(*environment, "="));
		if (!text_starts(name, prefix))
			continue;
		struct text rest = text_of(name.ptr + prefix.len, name.len - prefix.len);
		const char *nearest = nearest_name(rest, names.list);
		size_t distance = nearest ? nearest_distance(rest, text_from(nearest)) : 0;
		if (distance > 0 && distance <= TYPO_DISTANCE_MAX)
			problems_add_warning(problems,
				"%.*s: no variable of wpool, so it is not used; the nearest is WPOOL_%s",
				TEXT_ARGS(name), nearest);
	}
}

void warnings_add_broker(char *const *environment, struct problems *problems)
{
	if (environment_value(environment, "AMQP_URL") &&
		environment_value(environment, "RABBITMQ_HOSTNAME"))
		problems_add_warning(problems,
			"RABBITMQ_HOSTNAME: not used, since AMQP_URL is set, too, and wins");
}

void warnings_add_rights(const struct config *config, struct problems *problems)
{
	struct buf lack;
	buf_init(&lack, 1024);
	for (size_t i = 0; i < config->pool_count; i++) {
		buf_clear(&lack);
		if (rights_append_missing(&config->pools[i].rights, &lack) ||
			rights_append_unseen_strays(&config->pools[i].rights, &lack))
			problems_add_warning(
				problems, "pools[%zu].%.*s", i, TEXT_ARGS(buf_text(&lack)));
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

void warnings_add_dead_letters(const struct config *config, struct problems *problems)
{
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
			problems_add_warning(problems,
				"pools[%zu].retry.dead_letter: \"%s\" is the queue of pools[%td], "
				"which works what is given up here as tasks of its own",
				i, pool->retry.dead_letter, *other - config->pools);
	}
	free(sorted);
}
