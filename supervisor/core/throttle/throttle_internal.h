/* Of throttle.c and grants.c. */
#ifndef CORE_THROTTLE_THROTTLE_INTERNAL_H
#define CORE_THROTTLE_THROTTLE_INTERNAL_H

#include "base/list.h"
#include "core/number_table.h"
#include "core/throttle/ring.h"
#include "core/throttle/throttle.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE 64

/* With many keys each start uses another one, which is in no near cache: all that decides is in one
 * line. */
struct window {
	alignas(CACHE_LINE) struct numbered place; /* in by_key, by the number of the key */
	struct ring ring;                          /* without a place if the throttle is shared */
	struct link by_start;                      /* in throttle->by_start */
};
_Static_assert(sizeof(struct window) == CACHE_LINE, "it is in one line");

struct throttle {
	struct throttle_figures figures;
	uint64_t hash_seed;
	uint64_t starts, delays;
	uint32_t changes; /* of figures */
	struct number_table by_key;
	struct link by_start; /* windows, the one whose latest start is the oldest first, so those
				 that were charged in this turn are the last ones; before all of
				 them those without a start. Shared: by the latest use */
	/* A longer period can contain starts of keys that were forgotten under a shorter one, so
	 * each key that comes back has this past. */
	bool has_forgotten;
	mtime forgotten_at; /* not before the latest of those */
	bool has_missed;
	mtime missed_at;       /* see throttle_missed */
	struct grants *grants; /* owned; NULL: the starts of this process are all that count */
};

/* The window that was charged in this turn before that one, or last of all; NULL: none. Not if it
 * is shared. */
static inline struct window *window_charged_before(
	const struct throttle *throttle, const struct window *later)
{
	struct link *link = later ? later->by_start.prev : throttle->by_start.prev;
	struct window *window = CONTAINER_OF(link, struct window, by_start);
	return link != &throttle->by_start && window->ring.charged > 0 ? window : NULL;
}

/* The number of a key in the table: above 0. */
static inline uint64_t number_of_key(uint64_t key)
{
	return key == THROTTLE_NO_KEY ? UINT64_MAX : key;
}

static inline uint64_t key_of_number(uint64_t number)
{
	return number == UINT64_MAX ? THROTTLE_NO_KEY : number;
}

/* NULL: the key is not remembered. */
static inline struct window *window_find(const struct throttle *throttle, uint64_t key)
{
	struct numbered *found = number_table_find(&throttle->by_key, number_of_key(key));
	return found ? CONTAINER_OF(found, struct window, place) : NULL;
}

/* A zeroed window, or what begins with one; NULL: out of memory. */
static inline void *window_alloc(size_t size)
{
	void *window = aligned_alloc(CACHE_LINE, size);
	return window ? memset(window, 0, size) : NULL;
}

static inline void window_make_latest(struct throttle *throttle, struct window *window)
{
	list_remove(&window->by_start);
	list_append(&throttle->by_start, &window->by_start);
}

#endif
