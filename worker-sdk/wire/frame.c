#include "wire/frame.h"

#include "wire/value.h"

/* How many members each open array or map still needs. */
struct nesting {
	uint64_t missing[WIRE_DEPTH_MAX];
	unsigned depth;
	uint64_t owed;  /* the sum of missing: each is at least one byte long */
	uint64_t count; /* objects announced so far, the outermost included */
};

static enum wire_check_result nesting_open(struct nesting *nesting, uint64_t members, size_t left)
{
	nesting->owed += members;
	nesting->count += members;
	if (nesting->owed > left || nesting->count > WIRE_OBJECTS_MAX)
		return WIRE_TOO_MANY;
	if (nesting->depth == WIRE_DEPTH_MAX)
		return WIRE_TOO_DEEP;
	nesting->missing[nesting->depth++] = members;
	return WIRE_OK;
}

/* One object is complete, and so is each array or map of which it was the last member. */
static void nesting_settle(struct nesting *nesting)
{
	while (nesting->depth > 0 && nesting->missing[nesting->depth - 1] == 0)
		nesting->depth--;
}

static void nesting_take(struct nesting *nesting)
{
	if (nesting->depth == 0)
		return;
	nesting->missing[nesting->depth - 1]--;
	nesting->owed--;
}

enum wire_check_result wire_check(const uint8_t *bytes, size_t len)
{
	if (len == 0)
		return WIRE_CUT;
	const uint8_t *at = bytes, *end = bytes + len;
	struct nesting nesting = {.count = 1};
	do {
		struct wire_value value;
		enum wire_check_result result = wire_take(&at, end, &value);
		if (result != WIRE_OK)
			return result;
		nesting_take(&nesting);
		if (value.type == WIRE_ARRAY || value.type == WIRE_MAP) {
			uint64_t members = (uint64_t)value.count * (value.type == WIRE_MAP ? 2 : 1);
			result = nesting_open(&nesting, members, (size_t)(end - at));
			if (result != WIRE_OK)
				return result;
		}
		nesting_settle(&nesting);
	} while (nesting.depth > 0);
	return at == end ? WIRE_OK : WIRE_TRAILING;
}

const char *wire_check_words(enum wire_check_result result)
{
	switch (result) {
	case WIRE_OK:
		return "ok";
	case WIRE_CUT:
		return "the frame ends in the middle of an object";
	case WIRE_TRAILING:
		return "bytes follow the frame's one object";
	case WIRE_TOO_DEEP:
		return "nested too deep";
	case WIRE_TOO_MANY:
		return "more elements are announced than there is room for";
	case WIRE_BAD_BYTE:
		return "a byte that MessagePack never uses";
	}
	return "unknown";
}

uint32_t wire_get_length(const uint8_t bytes[WIRE_LENGTH_BYTES])
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

void wire_put_length(uint8_t bytes[WIRE_LENGTH_BYTES], uint32_t length)
{
	bytes[0] = (uint8_t)(length >> 24);
	bytes[1] = (uint8_t)(length >> 16);
	bytes[2] = (uint8_t)(length >> 8);
	bytes[3] = (uint8_t)length;
}
