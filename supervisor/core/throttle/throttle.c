#include "core/throttle/throttle.h"

#include "base/keyed_hash.h"
#include "core/throttle/grants.h"
#include "core/throttle/throttle_internal.h"

#include <assert.h>
#include <stdlib.h>

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
	mtime latest = window->ring.forgotten_at; /* if its starts were taken back */
	if (throttle->grants)
		grants_forget(throttle->grants, window);
	if (ring_latest(&window->ring, &latest) || window->ring.has_forgotten) {
		throttle->forgotten_at = mtime_max(throttle->forgotten_at, latest);
		throttle->has_forgotten = true;
	}
	number_table_remove(&throttle->by_key, &window->place);
	list_remove(&window->by_start);
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
	grants_free(throttle->grants);
	free(throttle);
}

void throttle_configure(struct throttle *throttle, const struct throttle_figures *figures)
{
	assert(figures->limit > 0 && figures->limit <= THROTTLE_LIMIT_MAX);
	assert(figures->period > 0);
	assert(figures->max_keys > 0 && figures->max_keys <= THROTTLE_KEYS_MAX);
	const struct throttle_figures *before = &throttle->figures;
	bool is_same = before->limit == figures->limit && before->period == figures->period &&
		       before->max_keys == figures->max_keys;
	throttle->changes += !is_same;
	throttle->figures = *figures;
}

uint32_t throttle_changes(const struct throttle *throttle)
{
	return throttle->changes;
}

/* ---------- windows ---------- */

/* When the latest start of the window is out of it; 0: it had none. Shared: when to look again
 * whether it is in use. */
static mtime empty_at(const struct throttle *throttle, const struct window *window, mtime now)
{
	mtime latest;
	if (throttle->grants)
		return grants_keep_until(throttle, window, now);
	if (!ring_latest(&window->ring, &latest))
		return 0;
	return mtime_after(latest, throttle->figures.period);
}

/* Forget keys that have no start in their window until at most so many are left. Return when that
 * is possible; 0: it is done. */
static mtime make_space(struct throttle *throttle, uint32_t keys_max, mtime now)
{
	while (throttle->by_key.count > keys_max) {
		mtime at = empty_at(throttle, oldest(throttle), now);
		if (at > now)
			return at;
		forget(throttle, oldest(throttle));
	}
	return 0;
}

static struct window *window_open(struct throttle *throttle, uint64_t key)
{
	struct window *window =
		throttle->grants ? grants_window_new() : window_alloc(sizeof *window);
	if (!window)
		return NULL;
	if (throttle->has_forgotten)
		ring_forgot(&window->ring, throttle->forgotten_at);
	number_table_add(&throttle->by_key, &window->place, number_of_key(key));
	list_prepend(&throttle->by_start, &window->by_start);
	return window;
}

/* Not while more keys are remembered than max_keys, which was lowered: the old keys and a higher
 * limit together would take more memory than either figure allows. */
static bool rings_may_grow(const struct throttle *throttle)
{
	return throttle->by_key.count <= throttle->figures.max_keys;
}

/* As much of the limit as the key's ring has places for; 0: it has none. */
static uint32_t usable_limit(const struct throttle *throttle, struct window *window)
{
	uint32_t limit = throttle->figures.limit, size = window->ring.size;
	if (rings_may_grow(throttle) && ring_reserve(&window->ring, limit) == RC_OK)
		return limit;
	return size < limit ? size : limit;
}

/* When a ring may get the places that it has not got now. */
static mtime grows_at(const struct throttle *throttle, mtime now)
{
	return rings_may_grow(throttle) ? mtime_after(now, THROTTLE_MEMORY_WAIT)
					: empty_at(throttle, oldest(throttle), now);
}

static mtime window_free_at(const struct throttle *throttle, struct window *window, mtime now)
{
	const struct throttle_figures *figures = &throttle->figures;
	uint32_t limit = usable_limit(throttle, window);
	mtime at = limit > 0 ? ring_free_at(&window->ring, limit, figures->period) : MTIME_NEVER;
	return at > now && limit < figures->limit ? mtime_min(at, grows_at(throttle, now)) : at;
}

uint64_t throttle_key(const struct throttle *throttle, struct text key)
{
	uint64_t number = keyed_hash(throttle->hash_seed, key);
	return number + (number == THROTTLE_NO_KEY);
}

/* What a start changes: its ring, and its neighbours in the list, which it leaves. */
static void window_prefetch(const struct window *window)
{
	ring_prefetch(&window->ring);
	__builtin_prefetch(window->by_start.prev, 1);
	__builtin_prefetch(window->by_start.next, 1);
}

void throttle_expect(const struct throttle *throttle, const uint64_t *keys, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		number_table_prefetch(&throttle->by_key, number_of_key(keys[i]));
	for (uint32_t i = 0; i < count; i++) {
		const struct window *window = window_find(throttle, keys[i]);
		if (window)
			window_prefetch(window);
	}
}

mtime throttle_ask(struct throttle *throttle, uint64_t key, mtime now, struct window **ret_window)
{
	const struct throttle_figures *figures = &throttle->figures;
	struct window *window = window_find(throttle, key);
	if (window && !throttle->grants && window->ring.size < figures->limit) {
		make_space(throttle, figures->max_keys, now);
		window = window_find(throttle, key);
	}
	if (!window) {
		mtime space_at = make_space(throttle, figures->max_keys - 1, now);
		if (space_at > 0 && throttle->grants)
			grants_refuse_key(throttle->grants);
		if (space_at > 0)
			return space_at;
		window = window_open(throttle, key);
	}
	if (window && throttle->grants) {
		*ret_window = window;
		return grants_ask(throttle, window, now);
	}
	mtime at = window ? window_free_at(throttle, window, now) : grows_at(throttle, now);
	if (at <= now)
		*ret_window = window;
	return at;
}

void throttle_charge(struct throttle *throttle, struct window *window, mtime now)
{
	if (throttle->grants)
		grants_charge(throttle->grants, window, now);
	else
		ring_charge(&window->ring, now);
	throttle->starts++;
	window_make_latest(throttle, window);
}

void throttle_end_turn(struct throttle *throttle, mtime now)
{
	struct window *window = NULL;
	if (throttle->grants) {
		grants_end_turn(throttle->grants, now);
		return;
	}
	while ((window = window_charged_before(throttle, window)))
		ring_postdate(&window->ring, now);
}

void throttle_missed(struct throttle *throttle, mtime now)
{
	throttle->forgotten_at =
		throttle->has_forgotten ? mtime_max(throttle->forgotten_at, now) : now;
	throttle->missed_at = throttle->has_missed ? mtime_max(throttle->missed_at, now) : now;
	throttle->has_forgotten = throttle->has_missed = true;
}

bool throttle_is_unsure(const struct throttle *throttle, mtime now)
{
	if (throttle->grants)
		return grants_is_unsure(throttle->grants);
	return throttle->has_missed && now - throttle->missed_at < throttle->figures.period;
}

/* ---------- what outlives the process ---------- */

uint64_t throttle_seed(const struct throttle *throttle)
{
	return throttle->hash_seed;
}

mtime throttle_latest(const struct throttle *throttle, uint64_t key)
{
	const struct window *window = window_find(throttle, key);
	mtime at;
	return window && ring_latest(&window->ring, &at) ? at : 0;
}

void throttle_each_charged(const struct throttle *throttle,
	void (*on_charged)(void *ctx, uint64_t key, uint32_t starts), void *ctx)
{
	const struct window *window = NULL;
	while ((window = window_charged_before(throttle, window)))
		on_charged(ctx, key_of_number(window->place.number), window->ring.charged);
}

static void each_start_of(const struct window *window, mtime since,
	void (*on_starts)(void *ctx, uint64_t key, uint32_t starts, mtime at), void *ctx)
{
	const struct ring *ring = &window->ring;
	uint32_t ago = ring_count_after(ring, since);
	while (ago > 0) {
		mtime at = ring_start(ring, ago);
		uint32_t starts = 1;
		while (starts < ago && ring_start(ring, ago - starts) == at)
			starts++;
		on_starts(ctx, key_of_number(window->place.number), starts, at);
		ago -= starts;
	}
}

void throttle_each_start(const struct throttle *throttle, mtime since,
	void (*on_starts)(void *ctx, uint64_t key, uint32_t starts, mtime at), void *ctx)
{
	const struct link *link = throttle->by_start.next;
	for (; link != &throttle->by_start; link = link->next)
		each_start_of(
			CONTAINER_OF(link, const struct window, by_start), since, on_starts, ctx);
}

bool throttle_knows_since(const struct throttle *throttle, mtime since)
{
	const struct link *link = throttle->by_start.next;
	bool knows = !throttle->has_forgotten || throttle->forgotten_at <= since;
	for (; knows && link != &throttle->by_start; link = link->next) {
		const struct window *window = CONTAINER_OF(link, const struct window, by_start);
		knows = !window->ring.has_forgotten || window->ring.forgotten_at <= since;
	}
	return knows;
}

/* Its ring has places. NULL: without memory, this key or any other may have had starts up to then.
 */
static struct window *window_restore(struct throttle *throttle, uint64_t key, mtime at)
{
	struct window *window = window_find(throttle, key);
	if (!window && make_space(throttle, throttle->figures.max_keys - 1, at) == 0)
		window = window_open(throttle, key);
	if (window && usable_limit(throttle, window) > 0)
		return window;
	if (window)
		ring_forgot(&window->ring, at);
	else
		throttle_missed(throttle, at);
	return NULL;
}

void throttle_restore(struct throttle *throttle, uint64_t key, uint32_t starts, mtime at)
{
	uint32_t limit = throttle->figures.limit;
	struct window *window = window_restore(throttle, key, at);
	if (!window)
		return;
	for (uint32_t i = 0; i < starts && i < limit; i++)
		ring_add(&window->ring, at);
	if (starts > limit)
		ring_forgot(&window->ring, at);
	window_make_latest(throttle, window);
}

void throttle_use_up(struct throttle *throttle, uint64_t key, mtime at)
{
	struct window *window = window_restore(throttle, key, at);
	if (!window)
		return;
	ring_use_up(&window->ring, at);
	window_make_latest(throttle, window);
}

void throttle_take_back(struct throttle *throttle, uint64_t key, mtime at, uint32_t starts)
{
	struct window *window = window_find(throttle, key);
	if (!window)
		return;
	ring_take_back(&window->ring, starts, at);
	if (window->ring.count > 0)
		return;
	list_remove(&window->by_start);
	list_prepend(&throttle->by_start, &window->by_start);
}

uint64_t throttle_answers(const struct throttle *throttle)
{
	return throttle->grants ? grants_answers(throttle->grants) : 0;
}

bool throttle_answered_key(const struct throttle *throttle, uint64_t number, uint64_t *ret_key)
{
	return grants_answered_key(throttle->grants, number, ret_key);
}

/* ---------- views ---------- */

const struct throttle_figures *throttle_figures(const struct throttle *throttle)
{
	return &throttle->figures;
}

uint32_t throttle_keys(const struct throttle *throttle)
{
	return throttle->grants ? grants_keys(throttle->grants) : (uint32_t)throttle->by_key.count;
}

uint64_t throttle_starts(const struct throttle *throttle)
{
	return throttle->starts;
}

void throttle_count_delay(struct throttle *throttle)
{
	throttle->delays++;
}

uint64_t throttle_delays(const struct throttle *throttle)
{
	return throttle->delays;
}

mtime throttle_wait(const struct throttle *throttle, mtime now)
{
	const struct throttle_figures *figures = &throttle->figures;
	const struct window *window = window_find(throttle, THROTTLE_NO_KEY);
	mtime at = 0;
	if (throttle->grants)
		return window ? grants_wait(window, now) : 0;
	if (window)
		at = ring_free_at(&window->ring, figures->limit, figures->period);
	else if (throttle->has_forgotten)
		at = mtime_after(throttle->forgotten_at, figures->period);
	return mtime_max(at - now, 0);
}

/* Each whole period lets `limit` start. In what is left over, starts that are a period old by its
 * end free their places. */
uint64_t throttle_supply(const struct throttle *throttle, mtime now, mtime span)
{
	const struct throttle_figures *figures = &throttle->figures;
	const struct window *window = window_find(throttle, THROTTLE_NO_KEY);
	if (throttle->grants)
		return grants_supply(throttle, window, now, span);
	uint64_t periods = (uint64_t)(span / figures->period);
	mtime over = now + span % figures->period - figures->period;
	uint32_t taken = 0;
	if (window)
		taken = ring_count_after(&window->ring, over);
	else if (throttle->has_forgotten && throttle->forgotten_at > over)
		taken = figures->limit;
	return periods * figures->limit + (taken < figures->limit ? figures->limit - taken : 0);
}

/* From the window with the latest start. */
bool throttle_in_windows(
	const struct throttle *throttle, mtime now, uint32_t keys_max, uint64_t *ret)
{
	uint64_t starts = 0;
	uint32_t keys = 0;
	if (throttle->grants)
		return grants_in_windows(throttle->grants, ret);
	const struct link *link = throttle->by_start.prev;
	for (; link != &throttle->by_start; link = link->prev) {
		const struct window *window = CONTAINER_OF(link, struct window, by_start);
		uint32_t in_window =
			ring_count_after(&window->ring, now - throttle->figures.period);
		if (in_window == 0)
			break;
		if (++keys > keys_max)
			return false;
		starts += in_window;
	}
	*ret = starts;
	return true;
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
