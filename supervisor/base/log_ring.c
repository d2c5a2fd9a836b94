#include "base/log_ring.h"

#include <stdlib.h>

/* The header of a record; the pool's name and the line follow. */
struct header {
	uint32_t line_len; /* NO_RECORD: the rest of the ring is unused */
	uint32_t pool_len;
	int slot;
	enum log_level level;
};

#define NO_RECORD UINT32_MAX

/* Positions count all bytes ever written; a position modulo size is an offset. No record wraps
 * around the end. */
struct log_ring {
	size_t size;
	struct log_cursor begin, end;
	uint8_t bytes[];
};

struct log_ring *log_ring_new(size_t bytes)
{
	struct log_ring *ring = malloc(sizeof *ring + bytes);

	if (!ring)
		return NULL;
	ring->size = bytes;
	ring->begin = ring->end = (struct log_cursor){0};
	return ring;
}

void log_ring_free(struct log_ring *ring)
{
	free(ring);
}

static size_t left_before_end(const struct log_ring *ring, uint64_t position)
{
	return ring->size - (size_t)(position % ring->size);
}

static const uint8_t *at(const struct log_ring *ring, uint64_t position)
{
	return ring->bytes + position % ring->size;
}

/* Skip unused space. False: the end, no record follows. */
static bool find_record(const struct log_ring *ring, uint64_t *position, struct header *ret)
{
	while (*position < ring->end.position) {
		size_t left = left_before_end(ring, *position);
		if (left >= sizeof *ret) {
			memcpy(ret, at(ring, *position), sizeof *ret);
			if (ret->line_len != NO_RECORD)
				return true;
		}
		*position += left;
	}
	return false;
}

static size_t length_of(const struct header *header)
{
	return sizeof *header + header->pool_len + header->line_len;
}

static void drop_oldest(struct log_ring *ring)
{
	struct header header;

	if (!find_record(ring, &ring->begin.position, &header))
		return;
	ring->begin.position += length_of(&header);
	ring->begin.serial++;
}

/* Free so many bytes after the end, dropping the oldest records. */
static void ensure_space(struct log_ring *ring, size_t len)
{
	while (ring->end.position + len > ring->begin.position + ring->size &&
		ring->begin.serial < ring->end.serial)
		drop_oldest(ring);
	if (ring->begin.serial == ring->end.serial)
		ring->begin = ring->end;
}

/* A record that does not fit before the end is placed at the start. */
static void skip_end(struct log_ring *ring, size_t len)
{
	static const struct header none = {.line_len = NO_RECORD};
	size_t left = left_before_end(ring, ring->end.position);

	if (left >= len)
		return;
	ensure_space(ring, left);
	if (left >= sizeof none)
		memcpy(ring->bytes + ring->end.position % ring->size, &none, sizeof none);
	ring->end.position += left;
	if (ring->begin.serial == ring->end.serial)
		ring->begin = ring->end;
}

bool log_ring_add(struct log_ring *ring, const struct log_record *record)
{
	struct header header = {(uint32_t)record->line.len, (uint32_t)record->pool.len,
		record->slot, record->level};
	size_t len = length_of(&header);
	uint8_t *out;

	if (len > ring->size)
		return false;
	skip_end(ring, len);
	ensure_space(ring, len);
	out = ring->bytes + ring->end.position % ring->size;
	memcpy(out, &header, sizeof header);
	out += sizeof header;
	if (record->pool.len > 0)
		memcpy(out, record->pool.ptr, record->pool.len);
	if (record->line.len > 0)
		memcpy(out + record->pool.len, record->line.ptr, record->line.len);
	ring->end.position += len;
	ring->end.serial++;
	return true;
}

struct log_cursor log_ring_begin(const struct log_ring *ring)
{
	return ring->begin;
}

struct log_cursor log_ring_end(const struct log_ring *ring)
{
	return ring->end;
}

bool log_ring_next(const struct log_ring *ring, struct log_cursor *cursor, struct log_record *ret,
	uint64_t *missed)
{
	struct header header;
	const uint8_t *found;

	/* The same serial: unused space between the two may have been overwritten. */
	if (cursor->serial <= ring->begin.serial) {
		*missed += ring->begin.serial - cursor->serial;
		*cursor = ring->begin;
	}
	if (!find_record(ring, &cursor->position, &header))
		return false;
	found = at(ring, cursor->position) + sizeof header;
	*ret = (struct log_record){.level = header.level,
		.pool = text_of(found, header.pool_len),
		.slot = header.slot,
		.line = text_of(found + header.pool_len, header.line_len)};
	cursor->position += length_of(&header);
	cursor->serial++;
	return true;
}
