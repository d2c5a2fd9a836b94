/* The operators of running pools, and what they may expect: a paused pool takes and begins nothing,
 * no task is interrupted (workers.c), in the end there are as many workers as wanted, and a restart
 * never reduces the number of ready ones. */
#ifndef SIM_STEER_H
#define SIM_STEER_H

#include "core/event.h"
#include "core/notice.h"
#include <stdbool.h>
#include <stdint.h>

#define WORKERS_MAX 8                 /* wanted at once */
#define SLOTS_MAX   (WORKERS_MAX + 1) /* one more while they are replaced */

struct pool_runtime;
struct supervisor;
struct world;

/* What the operators have asked of a pool. */
struct steering {
	bool is_paused;
	uint32_t wanted;           /* workers */
	uint32_t min, max;         /* the bounds of wanted, where the pool chooses it */
	uint32_t fewest;           /* minimum of wanted since a turn ended */
	bool rolls;                /* a restart has begun, and its end was not reported */
	bool was_refused;          /* the last command */
	uint32_t leaving;          /* bit (1u << slot): it was leaving at the last check */
	mtime held_at;             /* a throttle last let none start in a turn */
	uint32_t lives[SLOTS_MAX]; /* when the restart began; 0: no process */
};

/* Send the pool a command, and check what must follow at once. */
void steer_command(struct pool_runtime *, enum command);
/* Send a command by chance to a pool that serves. */
void steer_any(struct world *);
/* Now and then a task of a worker is killed: seldom enough that most runs go on as without it. */
void steer_kill_chance(struct world *);
/* Resume each pool of the supervisor, so that the work is done. */
void steer_resume(struct supervisor *);
/* True: all pools have what the operators asked for. */
bool steer_is_done(const struct supervisor *);
/* Scale, restart or pause its pools by chance. */
void steer_in_order(struct supervisor *);

void steer_told(struct pool_runtime *, const struct notice *);
/* Check at the end of a turn. */
void steer_check(struct pool_runtime *);

#endif
