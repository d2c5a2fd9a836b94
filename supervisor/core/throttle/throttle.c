#include "core/throttle/throttle.h"

#include "base/keyed_hash.h"
#include "base/list.h"
#include "core/number_table.h"
#include "core/throttle/ring.h"

#include <assert.h>
#include <stdlib.h>

struct window {
	struct link by_start;  /* in throttle->by_start */
	struct numbered place; /* in throttle->by_key, by the number of the key */
	struct link charged;   /* in throttle->charged, if it was since the last turn ended */
	uint32_t charges;      /* how often */
	struct ring ring;
};

struct throttle {
	struct throttle_figures figures;
	uint64_t hash_seed;
	uint64_t starts;
	struct number_table by_key;
	struct link charged;  /* windows, since the last turn ended */
	struct link by_start; /* windows, the one whose latest start is the oldest first; before
				 them those without a start */
	/* A longer period can contain starts of keys that were forgotten under a shorter one, so
	 * each key that comes back has this past. */
	bool has_forgotten;
	mtime forgotten_at; /* not before the latest of those */
};

struct throttle *throttle_new(const struct throttle_figures *figures, uint64_t hash_seed)
{
	struct throttle *throttle = calloc(1, sizeof *throttle);
	if (!throttle)
		return NULL;
	if (number_table_init(&throttle->by_key) != RC_OK) {
		free(throttle);
		return NULL;
	}
	throttle->hash_seed = hash_seed;
	list_init(&throttle->by_start);
	list_init(&throttle->charged);
	throttle_configure(throttle, figures);
	return throttle;
}

static struct window *oldest(const struct throttle *throttle)
{
	struct link *first = list_first(&throttle->by_start);
	return first ? CONTAINER_OF(first, struct window, by_start) : NULL;
}

static void forget(struct throttle *throttle, struct window *window)
{
	mtime latest;
	if (ring_latest(&window->ring, &latest)) {
		throttle->forgotten_at = mtime_max(throttle->forgotten_at, latest);
		throttle->has_forgotten = true;
	}
	number_table_remove(&throttle->by_key, &window->place);
	list_remove(&window->by_start);
	list_remove(&window->charged);
	ring_release(&window->ring);
	free(window);
}

void throttle_free(struct throttle *throttle)
{
	struct window *window;
	if (!throttle)
		return;
	while ((window = oldest(throttle)))
		forget(throttle, window);
	number_table_release(&throttle->by_key);
	free(throttle);
}

void throttle_configure(struct throttle *throttle, const struct throttle_figures *figures)
{
	assert(figures->limit > 0 && figures->limit <= THROTTLE_LIMIT_MAX);
	assert(figures->period > 0);
	assert(figures->max_keys > 0 && figures->max_keys <= THROTTLE_KEYS_MAX);
	throttle->figures = *figures;
}

/* ---------- windows ---------- */

/* When the latest start of the window is out of it; 0: it had none. */
static mtime empty_at(const struct throttle *throttle, const struct window *window)
{
	mtime latest;
	if (!ring_latest(&window->ring, &latest))
		return 0;
	return mtime_after(latest, throttle->figures.period);
}

/* Forget keys until there is space for another one, which has no start in its window. Return when
 * there is; 0: there is now. */
static mtime make_space(struct throttle *throttle, mtime now)
{
	while (throttle->by_key.count >= throttle->figures.max_keys) {
		mtime at = empty_at(throttle, oldest(throttle));
		if (at > now)
			return at;
		forget(throttle, oldest(throttle));
	}
	return 0;
}

static struct window *window_find(const struct throttle *throttle, uint64_t number)
{
	struct numbered *found = number_table_find(&throttle->by_key, number);
	return found ? CONTAINER_OF(found, struct window, place) : NULL;
}

static struct window *window_open(struct throttle *throttle, uint64_t number)
{
	struct window *window = calloc(1, sizeof *window);
	if (!window)
		return NULL;
	if (throttle->has_forgotten)
		ring_forgot(&window->ring, throttle->forgotten_at);
	list_init(&window->charged);
	number_table_add(&throttle->by_key, &window->place, number);
	list_prepend(&throttle->by_start, &window->by_start);
	return window;
}

uint64_t throttle_key(const struct throttle *throttle, struct text key)
{
	uint64_t number = keyed_hash(throttle->hash_seed, key);
	return number == THROTTLE_NO_KEY ? 1 : number;
}

mtime throttle_ask(struct throttle *throttle, uint64_t key, mtime now, struct window **ret_window)
{
	const struct throttle_figures *figures = &throttle->figures;
	/* A number in the table is above 0. */
	uint64_t number = key == THROTTLE_NO_KEY ? UINT64_MAX : key;
	struct window *window = window_find(throttle, number);
	if (!window) {
		mtime space_at = make_space(throttle, now);
		if (space_at > 0)
			return space_at;
		window = window_open(throttle, number);
	}
	if (!window || ring_reserve(&window->ring, figures->limit) != RC_OK)
		return mtime_after(now, THROTTLE_MEMORY_WAIT);
	mtime at = ring_free_at(&window->ring, figures->limit, figures->period);
	if (at <= now)
		*ret_window = window;
	return at;
}

void throttle_charge(struct throttle *throttle, struct window *window, mtime now)
{
	ring_add(&window->ring, now);
	throttle->starts++;
	list_remove(&window->by_start);
	list_append(&throttle->by_start, &window->by_start);
	if (window->charges++ == 0)
		list_append(&throttle->charged, &window->charged);
}

void throttle_end_turn(struct throttle *throttle, mtime now)
{
	struct link *first;
	while ((first = list_first(&throttle->charged))) {
		struct window *window = CONTAINER_OF(first, struct window, charged);
		list_remove(first);
		ring_postdate(&window->ring, window->charges, now);
		window->charges = 0;
	}
}

void throttle_missed(struct throttle *throttle, mtime now)
{
	assert(list_is_empty(&throttle->by_start));
	throttle->has_forgotten = true;
	throttle->forgotten_at = now;
}

uint32_t throttle_keys(const struct throttle *throttle)
{
	return (uint32_t)throttle->by_key.count;
}

uint64_t throttle_starts(const struct throttle *throttle)
{
	return throttle->starts;
}

/* ---------- all throttles of a pool ---------- */

uint32_t passes_ask(struct passes *passes, mtime now, mtime *ret_at)
{
	for (uint32_t i = 0; i < passes->count; i++) {
		struct pass *pass = &passes->of[i];
		mtime at = throttle_ask(pass->throttle, pass->key, now, &pass->window);
		if (at <= now)
			continue;
		*ret_at = at;
		return i;
	}
	return passes->count;
}

void passes_charge(const struct passes *passes, mtime now)
{
	for (uint32_t i = 0; i < passes->count; i++)
		throttle_charge(passes->of[i].throttle, passes->of[i].window, now);
}
