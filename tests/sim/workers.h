/* Fake workers of every temper: what a pool's slots are in a run. */
#ifndef SIM_WORKERS_H
#define SIM_WORKERS_H

#include "core/effects.h"
#include "core/pool.h"
#include "sim/steer.h"

struct station;

enum worker_phase { WORKER_NONE, WORKER_BOOTING, WORKER_RUNNING };

struct worker_task {
	uint64_t instance;            /* 0: its channel was already lost on the broker's side */
	uint32_t id, slice, requeues; /* requeues: of the instance, when it was sent */
	uint16_t attempt;
	bool alone;       /* it was renewed so often that nothing may be at work beside it */
	bool interrupted; /* asked to come to an end */
	mtime sent, soft; /* soft: its limit where the pool interrupts, else MTIME_NEVER */
};

struct worker {
	enum worker_phase phase;
	uint32_t life;
	bool quit, term, kill; /* asked for */
	bool given_up;         /* with its task, for its time or its memory */
	bool broken;           /* it broke the protocol: says nothing more */
	bool full;             /* its pipe takes nothing more for now */
	bool stubborn;         /* heeds neither quit nor term */
	bool comes_to_nothing; /* it never comes up */
	mtime since;           /* its head is at work; good when it has one */
	uint32_t given;        /* tasks, in this life */
	uint64_t bytes;        /* of memory, more with each task */
	uint32_t count;
	struct worker_task tasks[POOL_PIPELINE_MAX]; /* the oldest first; good up to count */
};

struct workers {
	struct station *station;
	uint32_t restless; /* bit (1u << slot): something may come of it also in a calm world */
	struct worker worker[SLOTS_MAX];
};

/* None is there yet. */
void workers_start(struct workers *, struct station *);
enum send_result workers_send(
	struct workers *, uint16_t slot, const struct delivery *, uint16_t attempt);
void workers_request(struct workers *, uint16_t slot, uint32_t life, enum slot_request);
/* A worker does the next thing it can do, if there is any. */
void workers_act(struct workers *, uint16_t slot);
/* The world becomes calm: each is to be looked at. */
void workers_stir(struct workers *);
/* It takes tasks, as far as it knows. */
static inline bool workers_is_taking(const struct workers *workers, uint16_t slot)
{
	const struct worker *worker = &workers->worker[slot];

	return worker->phase == WORKER_RUNNING && !worker->quit && !worker->term && !worker->kill &&
	       !worker->broken;
}
/* In a calm world nothing comes of workers_act until something is asked of it. */
static inline bool workers_is_at_rest(const struct workers *workers, uint16_t slot)
{
	const struct worker *worker = &workers->worker[slot];

	return worker->phase == WORKER_NONE ||
	       (worker->phase == WORKER_RUNNING && worker->count == 0 && !worker->full &&
		       !worker->quit && !worker->term && !worker->kill);
}
bool workers_is_anyone_alive(const struct workers *);

#endif
