#include "control/sessions/session_walk.h"

#include "os/clock.h"
#include "runtime/pool_set.h"

#include <assert.h>
#include <stdlib.h>

/* Sessions that one call looks at. */
#define BATCH 64

enum rc session_walk_init(struct session_walk *walk, const struct supervisor_view *view,
	const struct pool_runtime *runtime, struct text where)
{
	struct session_filter_problem problem;
	size_t places = 2;

	*walk = (struct session_walk){.view = view,
		.place = runtime->place,
		.serial = runtime->serial,
		.left = pool_session_counts(runtime->pool).remembered};
	while (places < 2 * (size_t)walk->left)
		places *= 2;
	walk->places = places;
	walk->visited = calloc(places, sizeof *walk->visited);
	walk->where = where.len > 0 ? malloc(where.len) : NULL;
	if (!walk->visited || (where.len > 0 && !walk->where)) {
		session_walk_release(walk);
		return RC_MEMORY;
	}
	if (walk->where) {
		bool is_valid;
		memcpy(walk->where, where.ptr, where.len);
		is_valid = session_filter_parse(
			&walk->filter, text_of(walk->where, where.len), &problem);
		assert(is_valid);
	}
	return RC_OK;
}

void session_walk_release(struct session_walk *walk)
{
	free(walk->where);
	free(walk->visited);
	*walk = (struct session_walk){0};
}

struct pool_runtime *session_walk_pool(const struct session_walk *walk)
{
	struct pool_runtime *runtime = pool_set_at(walk->view->pool_set, walk->place);

	return runtime && runtime->serial == walk->serial ? runtime : NULL;
}

/* Lives are numbered one after the other, so they are spread by a multiplication (Knuth, 6.4).
 * False: it was there already. */
static bool insert(struct session_walk *walk, uint64_t life)
{
	size_t i = (size_t)(life * 0x9e3779b97f4a7c15 >> 32) & (walk->places - 1);

	while (walk->visited[i] && walk->visited[i] != life)
		i = (i + 1) & (walk->places - 1);
	if (walk->visited[i])
		return false;
	walk->visited[i] = life;
	return true;
}

/* From the last number down: a session that ends gives its number to the last one, which was
 * visited then. */
enum session_walk_step session_walk_next(struct session_walk *walk, struct session_facts *ret)
{
	const struct pool_runtime *runtime = session_walk_pool(walk);
	mtime now = clock_now();
	uint32_t remembered;

	if (!runtime)
		return SESSION_WALK_END;
	remembered = pool_session_counts(runtime->pool).remembered;
	if (walk->left > remembered)
		walk->left = remembered;
	for (int i = 0; i < BATCH && walk->left > 0; i++) {
		*ret = pool_session_facts(runtime->pool, --walk->left);
		if (insert(walk, ret->life) && session_filter_matches(&walk->filter, ret, now))
			return SESSION_WALK_FOUND;
	}
	return walk->left > 0 ? SESSION_WALK_MORE : SESSION_WALK_END;
}
