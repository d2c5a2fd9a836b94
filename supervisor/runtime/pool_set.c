#include "runtime/pool_set.h"

#include <assert.h>
#include <stdlib.h>

/* ---------- life ---------- */

struct pool_runtime *pool_set_add(struct pool_set *pool_set, const struct runtime_shared *tools,
	struct config_pool *config, mtime now)
{
	uint16_t place = 0;

	while (place < pool_set->count && pool_set->at[place])
		place++;
	if (place == POOL_SET_MAX)
		return NULL;
	if (place == pool_set->count) {
		struct pool_runtime **at = realloc(pool_set->at, (place + 1u) * sizeof *at);
		if (!at)
			return NULL;
		at[place] = NULL;
		pool_set->at = at;
		pool_set->count++;
	}
	pool_set->at[place] = pool_runtime_new(tools, config, place, pool_set->serials + 1, now);
	if (pool_set->at[place])
		pool_set->serials++;
	return pool_set->at[place];
}

void pool_set_remove(struct pool_set *pool_set, struct pool_runtime *runtime)
{
	uint16_t place = runtime->place;

	assert(pool_set->at[place] == runtime);
	pool_set->at[place] = NULL;
	pool_runtime_free(runtime);
}

void pool_set_release(struct pool_set *pool_set)
{
	for (size_t i = 0; i < pool_set->count; i++)
		pool_runtime_free(pool_set->at[i]);
	free(pool_set->at);
	*pool_set = (struct pool_set){0};
}

/* ---------- seconds ---------- */

void pool_set_end_seconds(struct pool_set *pool_set, int64_t now)
{
	struct history_second all = {0};
	struct histogram took = {0};
	struct pool_runtime *runtime;

	if (now == pool_set->history.open)
		return;
	for (size_t i = 0; (runtime = pool_set_next(pool_set, &i));)
		pool_runtime_end_seconds(runtime, now, &all, &took);
	history_set_times(&all, &took);
	history_end_seconds(&pool_set->history, now, &all);
}

/* ---------- lookup ---------- */

struct pool_runtime *pool_set_at(const struct pool_set *pool_set, size_t place)
{
	return place < pool_set->count ? pool_set->at[place] : NULL;
}

struct pool_runtime *pool_set_next(const struct pool_set *pool_set, size_t *place)
{
	while (*place < pool_set->count) {
		struct pool_runtime *runtime = pool_set->at[(*place)++];
		if (runtime)
			return runtime;
	}
	return NULL;
}

struct pool_runtime *pool_set_find_as_of(
	const struct pool_set *pool_set, struct text name, uint32_t newest)
{
	struct pool_runtime *runtime, *found = NULL;

	for (size_t i = 0; (runtime = pool_set_next(pool_set, &i));) {
		uint32_t serial = runtime->serial;
		if (serial <= newest && (!found || serial > found->serial) &&
			text_is(name, text_from(runtime->config.name)))
			found = runtime;
	}
	return found;
}

struct pool_runtime *pool_set_find(const struct pool_set *pool_set, struct text name)
{
	return pool_set_find_as_of(pool_set, name, pool_set->serials);
}

size_t pool_set_pools(const struct pool_set *pool_set)
{
	struct pool_runtime *runtime;
	size_t count = 0;

	for (size_t i = 0; (runtime = pool_set_next(pool_set, &i));)
		count += !pool_runtime_is_retiring(runtime);
	return count;
}
