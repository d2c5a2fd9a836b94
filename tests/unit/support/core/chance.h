/* A model of the broker and the workers of a pool, made of arrays. It checks every effect after any
 * random events; a broken rule names the seed. */
#ifndef UNIT_CHANCE_H
#define UNIT_CHANCE_H

#include "unit/support/core/rig.h"

#define SLOTS   5 /* the maximum; it begins with fewer */
#define DEPTH   4
#define TAGS    512
#define NUMBERS 1024

enum fate { UNSEEN, OPEN, MAY_ACK, SETTLED };

struct worker {
	bool lives, is_ready, is_leaving, is_broken, is_interrupted, is_alone;
	uint32_t life;
	uint64_t tags[2 * POOL_PIPELINE_MAX]; /* in its pipe */
	uint32_t epochs[2 * POOL_PIPELINE_MAX];
	uint32_t count;
};

struct number {
	uint64_t tag;
	uint32_t epoch; /* of the tag */
	enum parcel_kind kind;
	bool is_open, is_returned;
};

struct world {
	struct pool *pool;
	struct starts starts;
	uint64_t last_task_id;
	mtime idle; /* of its processors */
	struct pool_config config;
	mtime now;
	unsigned seed;
	bool source_is_up, consumes, rests, closes;
	uint32_t source_epoch;
	uint64_t last_tag;
	enum fate fates[TAGS + 1]; /* of the present epoch */
	bool is_paused;
	bool outbox_is_up;
	uint32_t outbox_epoch;
	uint64_t last_seq;
	struct number numbers[NUMBERS + 1];
	struct worker workers[SLOTS];
};

#define CHECK(world, fact) ck_assert_msg(fact, "seed %u: " #fact, (world)->seed)

extern const struct effects chance_effects; /* io: a struct world */

bool dice(long of);
/* Pass the event to the pool, and audit it. */
void chance_tell(struct world *world, struct event event);
/* From now on this tag may be acked, if its channel is still the present one. */
void chance_allow_ack(struct world *world, uint64_t tag, uint32_t epoch);

#endif
