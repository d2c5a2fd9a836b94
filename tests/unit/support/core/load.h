/* A pool under a load, in virtual time: messages come to a queue at a rate, workers boot, take a
 * time for each, and leave when asked to. A test checks how many workers the pool wanted, and how
 * often that number changed. */
#ifndef UNIT_LOAD_H
#define UNIT_LOAD_H

#include "core/pool.h"
#include "core/pool_facts.h"
#include "core/workers/starts.h"
#include "sim/random.h"
#include "unit/unit.h"

#define LOAD_SLOTS 80

struct load_worker {
	uint32_t life;
	bool lives, is_ready, was_told;
	mtime due; /* it is ready, its head is done, or it is gone */
	uint32_t count;
};

#define LOAD_PROCESSORS 16

struct load {
	/* chosen by the test, and changed while it runs */
	double rate;     /* messages per second on average; 0: none */
	bool is_even;    /* in equal intervals, not by chance */
	mtime task;      /* the time for one task on average */
	bool is_fixed;   /* all tasks take the same time */
	mtime boot;      /* the time in which a worker becomes ready */
	mtime each;      /* the time that a task costs the supervisor */
	bool is_cut_off; /* there is no broker */

	struct pool *pool;
	struct starts starts; /* of LOAD_PROCESSORS, which are idle */
	uint64_t last_task_id;
	struct random random;
	mtime now, turned_at, next_message;
	uint64_t handled; /* answers at the end of the previous turn */
	uint32_t epoch, window;
	bool consumes, is_up;
	uint64_t tag;
	uint64_t queued;   /* messages in the queue of the broker */
	uint64_t answered; /* tasks */
	uint32_t grown, shrunk, refused;
	uint32_t min_seen, max_seen; /* workers wanted, since load_forget */
	mtime changed_at;            /* the latest time */
	uint16_t slots_max;          /* 0: as many as there are */
	struct load_worker workers[LOAD_SLOTS];
};

/* Start a pool with pipeline auto and min to max workers, all ready. What the test did not choose
 * is zero. */
void load_start(struct load *, uint16_t min, uint16_t max, uint64_t seed);
void load_end(struct load *);
void load_run(struct load *, mtime span);
/* Run until it wants that many workers. Return how long that took; fail after a day. */
mtime load_run_until(struct load *, uint32_t wanted);
void load_command(struct load *, enum command, uint32_t number, uint32_t max);
/* Clear what was seen and counted. */
void load_forget(struct load *);
uint32_t load_wanted(const struct load *);

#endif
