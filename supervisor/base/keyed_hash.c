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

uint64_t keyed_hash(uint64_t secret, struct text text)
{
	struct state state = {secret ^ UINT64_C(0x736f6d6570736575),
		secret ^ UINT64_C(0x646f72616e646f6d), secret ^ UINT64_C(0x6c7967656e657261),
		secret ^ UINT64_C(0x7465646279746573)};
	uint64_t piece;
	size_t at = 0;
	for (; text.len - at >= sizeof piece; at += sizeof piece) {
		memcpy(&piece, text.ptr + at, sizeof piece);
		add_piece(&state, le64toh(piece));
	}
	piece = 0;
	if (at < text.len)
		memcpy(&piece, text.ptr + at, text.len - at);
	add_piece(&state, le64toh(piece) | (uint64_t)text.len << 56);
	state.c ^= 0xff;
	mix(&state);
	mix(&state);
	mix(&state);
	return state.a ^ state.b ^ state.c ^ state.d;
}
