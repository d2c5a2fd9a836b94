/* The simulator's only source of chance: a run is a function of its seed. */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
	uint64_t state;
};

static inline void random_init(struct random *random, uint64_t seed)
{
	random->state = seed;
}

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static inline uint64_t random_next(struct random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Scale bits to 0 to bound - 1, by a multiplication, which is cheaper than a division. */
static inline uint32_t random_scaled(uint32_t bits, uint32_t bound)
{
	return (uint32_t)((uint64_t)bits * bound >> 32);
}

/* 0 to bound - 1. bound must not be 0. */
static inline uint32_t random_below(struct random *random, uint32_t bound)
{
	return random_scaled((uint32_t)(random_next(random) >> 32), bound);
}

/* True in per_mille of a thousand calls. */
static inline bool random_chance(struct random *random, uint32_t per_mille)
{
	return random_below(random, 1000) < per_mille;
}

#endif
