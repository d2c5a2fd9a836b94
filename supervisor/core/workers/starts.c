#include "core/workers/starts.h"

#include <assert.h>

/* So much processor time is cheap. A start that takes long may have made another process compute.
 */
#define CHEAP     (5 * MTIME_MS)
#define CHEAP_MAX 16 /* at once */
#define LONG      (200 * MTIME_MS)

#define WHOLE     1000           /* a processor, in thousandths */
#define STEP      (5 * MTIME_MS) /* of a whole processor; of a tenth of one ten times as long */
#define STEPS_MAX 10             /* after so many steps another measurement begins */

void starts_init(struct starts *starts, uint32_t share, mtime grain)
{
	assert(share > 0);
	uint32_t unit = share < WHOLE ? share : WHOLE;
	*starts = (struct starts){.processors = (share + WHOLE - 1) / WHOLE,
		.at_once = (share + WHOLE - 1) / WHOLE,
		.unit = unit,
		.step = STEP * WHOLE / unit,
		.grain = grain,
		.look_at = MTIME_NEVER,
		.since = MTIME_NEVER};
	list_init(&starts->line);
}

static void measure_from(struct starts *starts, mtime now, mtime idle)
{
	starts->since = now;
	starts->idle = idle;
}

/* Half a unit must have been idle on average: short waits of workers that compute are not enough.
 * What was allowed and not used is forgotten, because the processors may be busy by now. */
void starts_look(struct starts *starts, mtime now, mtime idle)
{
	starts->more = 0;
	starts->look_at = now + starts->step;
	if (starts->since == MTIME_NEVER) {
		measure_from(starts, now, idle);
		return;
	}
	mtime span = now - starts->since;
	mtime unused = idle - starts->idle - starts->grain;
	if (span >= starts->step && unused * 2 * WHOLE >= span * starts->unit) {
		starts->more = (uint32_t)mtime_min(span / starts->step, STEPS_MAX);
		measure_from(starts, now, idle);
	} else if (span >= STEPS_MAX * starts->step) {
		measure_from(starts, now, idle);
	}
}

static bool is_in_line(const struct link *place)
{
	return !list_is_empty(place);
}

bool starts_is_free(const struct starts *starts, const struct link *place)
{
	const struct link *first = list_first(&starts->line);
	return (!first || first == place) &&
	       (starts->starting < starts->at_once || starts->more > 0);
}

bool starts_take(struct starts *starts, struct link *place)
{
	if (!starts_is_free(starts, place))
		return false;
	if (starts->starting >= starts->at_once)
		starts->more--;
	starts->starting++;
	if (is_in_line(place)) {
		list_remove(place);
		list_append(&starts->line, place);
	}
	return true;
}

void starts_end(struct starts *starts, mtime took, mtime computed)
{
	starts->starting--;
	if (took > LONG || computed > CHEAP)
		starts->at_once = starts->processors;
	else if (starts->at_once < CHEAP_MAX)
		starts->at_once++;
}

void starts_line_up(struct starts *starts, struct link *place, mtime now)
{
	if (is_in_line(place))
		return;
	if (list_is_empty(&starts->line))
		starts->look_at = now + 1; /* in the next turn */
	list_append(&starts->line, place);
}

void starts_leave_line(struct starts *starts, struct link *place)
{
	list_remove(place);
	if (!list_is_empty(&starts->line))
		return;
	starts->look_at = starts->since = MTIME_NEVER;
	starts->more = 0;
}
