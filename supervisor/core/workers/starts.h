/* How many workers start at once, in all pools of a supervisor. Layer: core, pure. Workers that
 * compute while they start share the processors: more of them at once only take longer, all of
 * them. So as many start at once as there are processors. Two figures allow more: while starts
 * cost a few milliseconds each, their number grows; and after each step in which a processor
 * was idle one more may start, because workers that start may wait for something else. Pools take
 * turns. The owner measures, by starts_look; pools borrow it (pool_new). */
#ifndef CORE_WORKERS_STARTS_H
#define CORE_WORKERS_STARTS_H

#include "base/list.h"
#include "base/mtime.h"

#include <stdbool.h>
#include <stdint.h>

struct starts {
	uint32_t processors; /* rounded up */
	uint32_t at_once;    /* how many may start; grows from the number of processors */
	uint32_t starting;   /* workers that start */
	uint32_t more;       /* how many may start beyond at_once before the next look */
	struct link line;    /* of pools that want to start workers; the first is next */

	/* idle processors, measured while a pool is in line */
	uint32_t unit; /* thousandths of a processor: one, or all of a share below one */
	mtime step;
	mtime grain;   /* how far the difference of two figures may be too large */
	mtime look_at; /* MTIME_NEVER: no figure is needed */
	mtime since;   /* when the figure below was taken; MTIME_NEVER: none was */
	mtime idle;
};

/* share: of the processors, in thousandths of one; above 0. */
void starts_init(struct starts *, uint32_t share, mtime grain);
/* When starts_look is to be called, before the pools' turns; MTIME_NEVER: not needed. */
static inline mtime starts_look_at(const struct starts *starts)
{
	return starts->look_at;
}
/* idle: the processor time that was not used, since any fixed moment. */
void starts_look(struct starts *, mtime now, mtime idle);

/* For pools, each with a place of its own: a lone link, if it is not in line. */
/* Take a start; a pool in line goes to its end. False: none is free, or it is another's turn. */
bool starts_take(struct starts *, struct link *place);
void starts_line_up(struct starts *, struct link *place, mtime now);
/* A start that was taken is over: its worker was ready after so much time and processor time, or
 * failed (MTIME_NEVER). */
void starts_end(struct starts *, mtime took, mtime computed);
/* A place that is not in line is legal. */
void starts_leave_line(struct starts *, struct link *place);
/* True: starts_take would succeed. */
bool starts_is_free(const struct starts *, const struct link *place);

#endif
