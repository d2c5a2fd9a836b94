#include "core/workers/timers.h"

#include <stdlib.h>

enum rc timers_grow(struct timers *timers, uint16_t slots)
{
	struct slot **heap = calloc((size_t)slots + 1, sizeof *heap);
	if (!heap)
		return RC_MEMORY;
	for (uint32_t place = 1; place <= timers->count; place++)
		heap[place] = timers->heap[place];
	free(timers->heap);
	timers->heap = heap;
	return RC_OK;
}

void timers_release(struct timers *timers)
{
	free(timers->heap);
	*timers = (struct timers){0};
}

static void put(struct timers *timers, uint16_t place, struct slot *slot)
{
	timers->heap[place] = slot;
	slot->heap_place = place;
}

static void rise(struct timers *timers, struct slot *slot)
{
	uint16_t place = slot->heap_place;
	while (place > 1 && timers->heap[place / 2]->timer > slot->timer) {
		put(timers, place, timers->heap[place / 2]);
		place /= 2;
	}
	put(timers, place, slot);
}

static void sink(struct timers *timers, struct slot *slot)
{
	uint16_t place = slot->heap_place;
	for (;;) {
		uint16_t child = (uint16_t)(2 * place);
		if (child > timers->count)
			break;
		if (child < timers->count &&
			timers->heap[child + 1]->timer < timers->heap[child]->timer)
			child++;
		if (timers->heap[child]->timer >= slot->timer)
			break;
		put(timers, place, timers->heap[child]);
		place = child;
	}
	put(timers, place, slot);
}

void timers_set(struct timers *timers, struct slot *slot, mtime when)
{
	uint16_t place = slot->heap_place;
	if (place) {
		struct slot *last = timers->heap[timers->count--];
		slot->heap_place = 0;
		if (last != slot) {
			put(timers, place, last);
			rise(timers, last);
			sink(timers, last);
		}
	}
	slot->timer = when;
	if (when == MTIME_NEVER)
		return;
	put(timers, ++timers->count, slot);
	rise(timers, slot);
}

struct slot *timers_first(const struct timers *timers)
{
	return timers->count ? timers->heap[1] : NULL;
}

mtime timers_deadline(const struct timers *timers)
{
	return timers->count ? timers->heap[1]->timer : MTIME_NEVER;
}
