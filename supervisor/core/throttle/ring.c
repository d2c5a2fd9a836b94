#include "core/throttle/ring.h"

#include <assert.h>
#include <stdlib.h>

void ring_release(struct ring *ring)
{
	free(ring->starts);
	*ring = (struct ring){0};
}

/* The place of the start that was so many starts ago; 1: the latest. */
static uint32_t place_of(const struct ring *ring, uint32_t ago)
{
	return ring->next >= ago ? ring->next - ago : ring->next + ring->size - ago;
}

enum rc ring_reserve(struct ring *ring, uint32_t limit)
{
	if (limit <= ring->size)
		return RC_OK;
	mtime *starts = calloc(limit, sizeof *starts);
	if (!starts)
		return RC_MEMORY;
	uint32_t count = 0;
	for (uint32_t ago = ring->count; ago > 0; ago--)
		starts[count++] = ring->starts[place_of(ring, ago)];
	free(ring->starts);
	ring->starts = starts;
	ring->size = limit;
	ring->count = count;
	ring->next = count % limit;
	return RC_OK;
}

void ring_forgot(struct ring *ring, mtime at)
{
	ring->forgotten_at = ring->has_forgotten ? mtime_max(ring->forgotten_at, at) : at;
	ring->has_forgotten = 1;
}

mtime ring_free_at(const struct ring *ring, uint32_t limit, mtime period)
{
	if (ring->count >= limit)
		return mtime_after(ring->starts[place_of(ring, limit)], period);
	return ring->has_forgotten ? mtime_after(ring->forgotten_at, period) : 0;
}

/* The oldest start, whose place is the next one, and the latest. */
void ring_prefetch(const struct ring *ring)
{
	if (ring->count == 0)
		return;
	__builtin_prefetch(&ring->starts[ring->next], 1);
	__builtin_prefetch(&ring->starts[place_of(ring, 1)], 1);
}

void ring_add(struct ring *ring, mtime now)
{
	mtime latest;
	if (ring_latest(ring, &latest))
		now = mtime_max(now, latest);
	if (ring->has_forgotten)
		now = mtime_max(now, ring->forgotten_at);
	assert(now >= 0 && ring->size > 0);
	if (ring->count == ring->size)
		ring_forgot(ring, ring->starts[ring->next]);
	else
		ring->count++;
	ring->starts[ring->next++] = now;
	if (ring->next == ring->size)
		ring->next = 0;
}

void ring_use_up(struct ring *ring, mtime at)
{
	mtime latest;
	assert(ring->charged == 0);
	if (ring_latest(ring, &latest))
		at = mtime_max(at, latest);
	ring_forgot(ring, at);
	ring->count = 0;
	ring_add(ring, at);
}

void ring_charge(struct ring *ring, mtime now)
{
	ring_add(ring, now);
	ring->charged++;
}

void ring_postdate(struct ring *ring, mtime now)
{
	assert(ring->charged <= ring->count);
	for (uint32_t ago = 1; ago <= ring->charged; ago++) {
		mtime *start = &ring->starts[place_of(ring, ago)];
		*start = mtime_max(*start, now);
	}
	ring->charged = 0;
}

/* The starts are in the order of their times. */
uint32_t ring_count_after(const struct ring *ring, mtime at)
{
	uint32_t low = 0, high = ring->count;
	while (low < high) {
		uint32_t ago = low + (high - low + 1) / 2;
		if (ring->starts[place_of(ring, ago)] > at)
			low = ago;
		else
			high = ago - 1;
	}
	return low;
}

void ring_take_back(struct ring *ring, uint32_t starts, mtime at)
{
	uint32_t later = ring_count_after(ring, at);
	uint32_t taken = ring_count_after(ring, at - 1) - later;
	if (taken > starts)
		taken = starts;
	if (taken == 0)
		return;
	for (uint32_t ago = later; ago > 0; ago--)
		ring->starts[place_of(ring, ago + taken)] = ring->starts[place_of(ring, ago)];
	ring->count -= taken;
	ring->next = place_of(ring, taken);
}

mtime ring_start(const struct ring *ring, uint32_t ago)
{
	return ring->starts[place_of(ring, ago)];
}

bool ring_latest(const struct ring *ring, mtime *ret_at)
{
	if (ring->count == 0)
		return false;
	*ret_at = ring->starts[place_of(ring, 1)];
	return true;
}
