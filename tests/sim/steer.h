/* The operators who steer pools at work, and what they may expect: nothing is taken or begun in a
 * pause, nobody is interrupted (workers.c), there are as many workers as wanted in the end, and a
 * restart never leaves fewer ready. */
#ifndef SIM_STEER_H
#define SIM_STEER_H

#include "core/event.h"
#include "core/notice.h"
#include <stdbool.h>
#include <stdint.h>

#define WORKERS_MAX 8                 /* that are wanted at once */
#define SLOTS_MAX   (WORKERS_MAX + 1) /* one more while they are replaced */

struct station;
struct supervisor;
struct world;

/* What they asked a pool for. */
struct steering {
	bool is_paused;
	uint32_t wanted;      /* workers */
	uint32_t least, most; /* between which the pool chooses that */
	uint32_t fewest;      /* that were wanted since a turn ended */
	bool rolls;           /* a restart has begun, and nothing was heard of its end */
	bool was_refused;     /* the last command */
	uint32_t leaving;     /* bit (1u << slot): on its way out, when this was last looked at */
	uint32_t lives[SLOTS_MAX]; /* that were there when the restart began; 0: none */
};

/* It is told, and held to what follows at once. */
void steer_tell(struct station *, enum command);
/* A pool that serves is told something by chance. */
void steer_any(struct world *);
/* It is told to each of its pools that it goes on; there is work to be done. */
void steer_resume(struct supervisor *);
/* All of them have what they were told to have. */
bool steer_is_done(const struct supervisor *);
/* Its pools are scaled, restarted, paused, by chance. */
void steer_in_order(struct supervisor *);

void steer_told(struct station *, const struct notice *);
/* A turn has ended. */
void steer_check(struct station *);

#endif
