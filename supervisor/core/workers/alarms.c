#include "core/workers/alarms.h"

#include <stdlib.h>

enum rc alarms_grow(struct alarms *alarms, uint16_t slots)
{
	struct slot **heap = calloc((size_t)slots + 1, sizeof *heap);
	if (!heap)
		return RC_MEMORY;
	for (uint32_t place = 1; place <= alarms->count; place++)
		heap[place] = alarms->heap[place];
	free(alarms->heap);
	alarms->heap = heap;
	return RC_OK;
}

void alarms_release(struct alarms *alarms)
{
	free(alarms->heap);
	*alarms = (struct alarms){0};
}

static void put(struct alarms *alarms, uint16_t place, struct slot *slot)
{
	alarms->heap[place] = slot;
	slot->heap_place = place;
}

static void rise(struct alarms *alarms, struct slot *slot)
{
	uint16_t place = slot->heap_place;
	while (place > 1 && alarms->heap[place / 2]->alarm > slot->alarm) {
		put(alarms, place, alarms->heap[place / 2]);
		place /= 2;
	}
	put(alarms, place, slot);
}

static void sink(struct alarms *alarms, struct slot *slot)
{
	uint16_t place = slot->heap_place;
	for (;;) {
		uint16_t child = (uint16_t)(2 * place);
		if (child > alarms->count)
			break;
		if (child < alarms->count &&
			alarms->heap[child + 1]->alarm < alarms->heap[child]->alarm)
			child++;
		if (alarms->heap[child]->alarm >= slot->alarm)
			break;
		put(alarms, place, alarms->heap[child]);
		place = child;
	}
	put(alarms, place, slot);
}

void alarms_set(struct alarms *alarms, struct slot *slot, mtime when)
{
	uint16_t place = slot->heap_place;
	if (place) {
		struct slot *last = alarms->heap[alarms->count--];
		slot->heap_place = 0;
		if (last != slot) {
			put(alarms, place, last);
			rise(alarms, last);
			sink(alarms, last);
		}
	}
	slot->alarm = when;
	if (when == MTIME_NEVER)
		return;
	put(alarms, ++alarms->count, slot);
	rise(alarms, slot);
}

struct slot *alarms_first(const struct alarms *alarms)
{
	return alarms->count ? alarms->heap[1] : NULL;
}

mtime alarms_deadline(const struct alarms *alarms)
{
	return alarms->count ? alarms->heap[1]->alarm : MTIME_NEVER;
}
