/* The throttles of a run, and the checks of them. Each supervisor has its own, by the same
 * definitions, and its pools share them. The true times of all starts are kept in plain lists, by
 * supervisor, throttle and key, over the lives of the supervisor: the core is not asked what it
 * remembers. */
#ifndef SIM_THROTTLES_H
#define SIM_THROTTLES_H

#include "core/effects.h"
#include "core/pool_config.h"
#include "message/key_source.h"
#include "sim/account.h"
#include "sim/random.h"

#define THROTTLES_MAX  4 /* of a run */
#define THROTTLED_KEYS 7 /* 0: messages without the key */

struct pool_runtime;
struct supervisor;
struct world;

/* A throttle, as all supervisors have it at first. */
struct throttle_definition {
	struct key_source source; /* KEY_NONE: one limit for all */
	enum throttle_excess excess;
	struct throttle_figures figures;
};

struct throttle_plan {
	bool is_on;           /* this run has throttles */
	bool is_suspended;    /* now and then its machines are */
	struct random random; /* so that all runs without throttles stay as they are */
	uint32_t count;
	struct throttle_definition of[THROTTLES_MAX];
	uint8_t tenants;                          /* keys in use */
	uint8_t tenant[ACCOUNT_MESSAGES_MAX + 1]; /* by id; 0: none */
	uint8_t type[ACCOUNT_MESSAGES_MAX + 1];
	const char *reply_to[ACCOUNT_MESSAGES_MAX + 1];
};

/* When a task was written: not before its turn began, and not after that turn ended. */
struct throttled_start {
	mtime early, late;
};

/* Those with one key, in their order. */
struct throttled_starts {
	uint32_t count, size;
	uint32_t in_turn;           /* the last ones, of the present turn */
	struct throttled_start *of; /* owned */
};

/* One throttle of a supervisor. */
struct supervisor_throttle {
	struct throttle *throttle; /* owned; NULL: the supervisor does not live */
	struct throttle_figures figures;
	bool has_changed;  /* it had other figures, in some life */
	mtime unsure_from; /* since then, for one period, it may remember more than there was */
	struct throttled_starts starts[THROTTLED_KEYS];
};

struct supervisor_throttles {
	mtime ahead; /* what the clock of the machine has more than the pools' */
	mtime boot;  /* in the present turn */
	struct supervisor_throttle of[THROTTLES_MAX];
};

/* Those of a pool. */
struct pool_throttles {
	uint8_t count, of[THROTTLES_MAX]; /* numbers in the plan, in the order of the pool */
	bool has_changed;                 /* the list did, since the pool started */
	uint32_t half;                    /* of its window, in this turn */
	uint32_t credit;                  /* tasks that it may postpone */
	mtime credit_at;                  /* and another one then */
};

/* ---------- choice ---------- */

/* world->order is chosen. */
void throttles_choose(struct world *);
/* Choose the list of a pool, and later perhaps another one. */
void throttles_choose_list(struct pool_runtime *);
/* What the list means for the pool's size. */
void throttles_resize(struct pool_runtime *);
/* Set what a new message has for throttles. */
void throttles_arrive(
	struct world *, uint32_t id, struct buf *headers, struct properties *properties);

/* ---------- life ---------- */

void throttles_begin(struct supervisor *);
void throttles_end(struct supervisor *);
/* Set the pool's configuration by its list: its supervisor lives. */
void throttles_configure(struct pool_runtime *);
/* The effect. */
void throttles_find_keys(void *io, struct delivery *);
/* An operator may set other figures, or a machine may be suspended. */
void throttles_chance(struct world *);

/* ---------- turns ---------- */

void throttles_begin_turn(struct supervisor *);
/* The place of the pool that has its turn first. */
uint16_t throttles_first_pool(struct supervisor *);
/* A pool is about to have its turn, and has had it. */
void throttles_pool_begins(struct pool_runtime *);
void throttles_pool_ends(void);
/* All have; nothing may wait that need not. */
void throttles_end_turn(struct supervisor *);
void throttles_check_waiting(const struct pool_runtime *);

/* ---------- what is checked ---------- */

/* A worker has got it. */
void throttles_started(struct pool_runtime *, const struct delivery *);
/* What the pool reports of a task that may not start. */
void throttles_told(struct pool_runtime *, const struct notice *);
/* The pool that has its turn: this task, about which it has asked for the first time, is to wait.
 */
void throttles_waits(const struct delivery *);
/* The same: the caller of this task is to be told that it may not start. */
void throttles_refused(const struct delivery *);
/* A throttle for which that happens lets the task wait so long. */
void throttles_decided(const struct delivery *, enum throttle_excess, mtime wait);
/* Certainly, all throttles of the pool let it start now. */
bool throttles_let(const struct pool_runtime *, const struct delivery *);
/* The pool has throttles, and one of them may keep it waiting; the same of a message of a session.
 */
bool throttles_may_hold(const struct pool_runtime *, const struct delivery *);
bool throttles_may_hold_message(const struct pool_runtime *, uint32_t id);
/* A limit for all tasks may keep each of them waiting. */
bool throttles_may_hold_all(const struct pool_runtime *);
static inline bool throttles_are_on(const struct pool_throttles *throttles)
{
	return throttles->count > 0;
}

#endif
