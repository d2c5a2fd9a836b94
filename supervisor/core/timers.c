#include "core/timers.h"

#include <stdlib.h>

enum rc timers_reserve(struct timers *timers, uint32_t size)
{
	if (size <= timers->size)
		return RC_OK;
	uint32_t larger = 2 * timers->size > size ? 2 * timers->size : size;
	struct timer **heap = calloc((size_t)larger + 1, sizeof *heap);
	if (!heap)
		return RC_MEMORY;
	for (uint32_t place = 1; place <= timers->count; place++)
		heap[place] = timers->heap[place];
	free(timers->heap);
	timers->heap = heap;
	timers->size = larger;
	return RC_OK;
}

void timers_release(struct timers *timers)
{
	free(timers->heap);
	*timers = (struct timers){0};
}

static void put(struct timers *timers, uint32_t place, struct timer *timer)
{
	timers->heap[place] = timer;
	timer->place = place;
}

static void rise(struct timers *timers, struct timer *timer)
{
	uint32_t place = timer->place;
	while (place > 1 && timers->heap[place / 2]->at > timer->at) {
		put(timers, place, timers->heap[place / 2]);
		place /= 2;
	}
	put(timers, place, timer);
}

static void sink(struct timers *timers, struct timer *timer)
{
	uint32_t place = timer->place;
	for (;;) {
		uint32_t child = 2 * place;
		if (child > timers->count)
			break;
		if (child < timers->count && timers->heap[child + 1]->at < timers->heap[child]->at)
			child++;
		if (timers->heap[child]->at >= timer->at)
			break;
		put(timers, place, timers->heap[child]);
		place = child;
	}
	put(timers, place, timer);
}

void timers_set(struct timers *timers, struct timer *timer, mtime at)
{
	uint32_t place = timer->place;
	if (place) {
		struct timer *last = timers->heap[timers->count--];
		timer->place = 0;
		if (last != timer) {
			put(timers, place, last);
			rise(timers, last);
			sink(timers, last);
		}
	}
	timer->at = at;
	if (at == MTIME_NEVER)
		return;
	put(timers, ++timers->count, timer);
	rise(timers, timer);
}

struct timer *timers_first(const struct timers *timers)
{
	return timers->count ? timers->heap[1] : NULL;
}

mtime timers_deadline(const struct timers *timers)
{
	return timers->count ? timers->heap[1]->at : MTIME_NEVER;
}
