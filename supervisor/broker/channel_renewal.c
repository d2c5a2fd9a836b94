#include "broker/channel_renewal.h"

#define WAIT_FIRST (5 * MTIME_SECOND) /* an election is over by then */
#define WAIT_LAST  MTIME_MINUTE

void channel_renewal_init(struct channel_renewal *channel_renewal, uint32_t seed)
{
	backoff_init(&channel_renewal->backoff, WAIT_FIRST, WAIT_LAST, seed);
	channel_renewal->renew_at = MTIME_NEVER;
}

void channel_renewal_on_answer(struct channel_renewal *channel_renewal, bool is_refused, mtime now)
{
	if (channel_renewal->renew_at != MTIME_NEVER)
		return;
	if (is_refused)
		channel_renewal->renew_at =
			mtime_after(now, backoff_next(&channel_renewal->backoff));
	else
		backoff_reset(&channel_renewal->backoff);
}

void channel_renewal_forget(struct channel_renewal *channel_renewal)
{
	channel_renewal->renew_at = MTIME_NEVER;
}
