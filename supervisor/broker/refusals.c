#include "broker/refusals.h"

#define WAIT_FIRST (5 * MTIME_SECOND) /* an election is over by then */
#define WAIT_LAST  MTIME_MINUTE

void refusals_init(struct refusals *refusals, uint32_t seed)
{
	patience_init(&refusals->patience, WAIT_FIRST, WAIT_LAST, seed);
	refusals->renew_at = MTIME_NEVER;
}

void refusals_note(struct refusals *refusals, bool is_refused, mtime now)
{
	if (refusals->renew_at != MTIME_NEVER)
		return;
	if (is_refused)
		refusals->renew_at = mtime_after(now, patience_next(&refusals->patience));
	else
		patience_reset(&refusals->patience);
}

void refusals_forget(struct refusals *refusals)
{
	refusals->renew_at = MTIME_NEVER;
}
