#include "base/keyed_hash.h"

#include <endian.h>
#include <string.h>

struct state {
	uint64_t a, b, c, d;
};

static uint64_t rotated(uint64_t number, unsigned bits)
{
	return number << bits | number >> (64 - bits);
}

static inline void mix(struct state *state)
{
	state->a += state->b;
	state->b = rotated(state->b, 13) ^ state->a;
	state->a = rotated(state->a, 32);
	state->c += state->d;
	state->d = rotated(state->d, 16) ^ state->c;
	state->a += state->d;
	state->d = rotated(state->d, 21) ^ state->a;
	state->c += state->b;
	state->b = rotated(state->b, 17) ^ state->c;
	state->c = rotated(state->c, 32);
}

static inline void add_piece(struct state *state, uint64_t piece)
{
	state->d ^= piece;
	mix(state);
	state->a ^= piece;
}

static uint64_t load(const char *bytes)
{
	uint64_t piece;
	memcpy(&piece, bytes, sizeof piece);
	return le64toh(piece);
}

/* The bytes at the end that fill no piece: without a copy of them, whose size would be known only
 * now, so that it went through memory byte by byte. */
static uint64_t last_piece(struct text text)
{
	uint64_t piece = 0;
	size_t len = text.len % sizeof piece;
	if (text.len >= sizeof piece)
		return load(text.ptr + text.len - sizeof piece) >> 8 >> 8 * (7 - len);
	while (len > 0)
		piece = piece << 8 | (uint8_t)text.ptr[--len];
	return piece;
}

uint64_t keyed_hash(uint64_t secret, struct text text)
{
	struct state state = {secret ^ UINT64_C(0x736f6d6570736575),
		secret ^ UINT64_C(0x646f72616e646f6d), secret ^ UINT64_C(0x6c7967656e657261),
		secret ^ UINT64_C(0x7465646279746573)};
	for (size_t at = 0; text.len - at >= sizeof(uint64_t); at += sizeof(uint64_t))
		add_piece(&state, load(text.ptr + at));
	add_piece(&state, last_piece(text) | (uint64_t)text.len << 56);
	state.c ^= 0xff;
	mix(&state);
	mix(&state);
	mix(&state);
	return state.a ^ state.b ^ state.c ^ state.d;
}
