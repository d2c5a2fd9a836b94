#include "runtime/pool_set.h"

#include "runtime/throttles/throttles.h"

#include <assert.h>
#include <stdlib.h>

/* ---------- life ---------- */

/* A zeroed pool set is empty. */
static struct link *turns_of(struct pool_set *pool_set)
{
	if (!pool_set->turns.next)
		list_init(&pool_set->turns);
	return &pool_set->turns;
}

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
	if (!pool_set->at[place])
		return NULL;
	pool_set->serials++;
	list_append(turns_of(pool_set), &pool_set->at[place]->turn);
	return pool_set->at[place];
}

/* The latest of those that have replaced it one after the other. NULL: it was not replaced, or they
 * are gone. */
static struct pool_runtime *find_heir(const struct pool_runtime *runtime)
{
	struct pool_runtime *heir = runtime->successor;

	while (heir && heir->successor)
		heir = heir->successor;
	return heir;
}

void pool_set_remove(struct pool_set *pool_set, struct pool_runtime *runtime)
{
	uint16_t place = runtime->place;
	struct pool_runtime *heir = find_heir(runtime);
	struct histogram took = {0};
	struct history_second rest;

	assert(pool_set->at[place] == runtime);
	if (heir) {
		rest = pool_runtime_measure(runtime, &took);
		history_hand_on(&heir->history_mark, &rest);
	}
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

/* ---------- turns ---------- */

static struct pool_runtime *runtime_of(struct link *turn)
{
	return CONTAINER_OF(turn, struct pool_runtime, turn);
}

/* With a fixed order, or one that moves on by one pool a turn, a pool could be the first each time
 * that a throttle lets a task begin. */
static void put_users_last(struct link *turns)
{
	struct link users, *link = turns->next;

	list_init(&users);
	while (link != turns) {
		struct link *next = link->next;
		if (runtime_of(link)->has_used_throttle) {
			runtime_of(link)->has_used_throttle = false;
			list_remove(link);
			list_append(&users, link);
		}
		link = next;
	}
	while ((link = list_first(&users))) {
		list_remove(link);
		list_append(turns, link);
	}
}

void pool_set_turn(
	struct pool_set *pool_set, struct throttles *throttles, mtime now, uint64_t wall_s)
{
	struct link *turns = turns_of(pool_set), *link;
	bool are_throttled = throttles->count > 0;
	mtime throttle_now = are_throttled ? throttles_now() : 0;

	for (link = turns->next; link != turns; link = link->next)
		pool_runtime_turn(runtime_of(link), now, throttle_now, wall_s);
	throttles_save(throttles, throttle_now);
	for (link = turns->next; link != turns; link = link->next)
		pool_runtime_flush(runtime_of(link));
	if (are_throttled) {
		throttles_end_turn(throttles, throttles_now());
		put_users_last(turns);
	}
}

/* ---------- seconds ---------- */

static void add_counts(struct history_second *sum, const struct history_second *figures)
{
	sum->in += figures->in;
	sum->done += figures->done;
	sum->retried += figures->retried;
}

/* Measure a pool and those that it replaces, and end the seconds of the latter. */
static struct history_second measure_with_replaced(
	struct pool_runtime *heir, int64_t now, struct histogram *ret_took)
{
	static const uint32_t none[HISTOGRAM_BUCKETS];
	struct histogram took = {0};
	struct history_second sum = pool_runtime_measure(heir, &took), figures;
	struct pool_runtime *runtime = heir;

	while ((runtime = runtime->predecessor)) {
		figures = pool_runtime_measure(runtime, &took);
		history_end_seconds(&runtime->history, now, &figures);
		add_counts(&sum, &figures);
	}
	history_set_times(&sum, &took);
	if (took.count > 0)
		histogram_add_since(ret_took, &took, none);
	return sum;
}

void pool_set_end_seconds(struct pool_set *pool_set, int64_t now)
{
	struct history_second all = {0}, figures;
	struct histogram took = {0};
	struct pool_runtime *runtime;

	if (now == pool_set->history.open)
		return;
	for (size_t i = 0; (runtime = pool_set_next(pool_set, &i));) {
		if (runtime->successor)
			continue; /* measured with its heir */
		figures = runtime->predecessor ? measure_with_replaced(runtime, now, &took)
					       : pool_runtime_measure(runtime, &took);
		history_end_seconds(&runtime->history, now, &figures);
		add_counts(&all, &figures);
	}
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
