/* The rolling restart: every worker is replaced, one by one. Layer: core; part of the pool's inside
 * (pool_parts.h). Never leaves fewer workers ready than are wanted, nor interrupts one; a command
 * whose workers come to nothing ends it. */
#ifndef CORE_POOL_ROLL_H
#define CORE_POOL_ROLL_H

#include <stdbool.h>
#include <stdint.h>

struct pool;
struct slot;

struct roll {
	bool is_on;
	struct slot *leaver; /* the last that it sent away */
	bool wants_look;     /* something happened to a slot since the last look */
	uint32_t stillborn;  /* new workers in a row that never were ready */
	uint32_t useless;    /* that were, and ended soon, with no answer of another between them */
};

void pool_roll_begin(struct pool *);
/* In each turn: the next that is to be done. */
void pool_roll(struct pool *);
/* A new worker's life came to nothing; one is ready; one has answered. */
void pool_roll_failed(struct pool *, const struct slot *);
void pool_roll_ready(struct pool *, const struct slot *);
void pool_roll_answered(struct pool *, const struct slot *);

#endif
