#include "broker/unacked_limit.h"

void unacked_limit_clear(struct unacked_limit *limit)
{
	*limit = (struct unacked_limit){0};
}

/* They cannot have left more than is unacked. A broker that cancels again and again gets no more
 * than UNACKED_DEPARTED_MAX. */
void unacked_limit_departed(
	struct unacked_limit *limit, uint32_t window, const struct pool_unacked *unacked)
{
	limit->has_departed = true;
	limit->departed += window;
	if (limit->departed > unacked->count)
		limit->departed = unacked->count;
	if (limit->departed > UNACKED_DEPARTED_MAX)
		limit->departed = UNACKED_DEPARTED_MAX;
	limit->departed_tag = unacked->latest_tag;
	limit->next_memory = unacked->memory;
}

static void forget_departed(struct unacked_limit *limit)
{
	limit->has_departed = false;
	limit->departed = 0;
	limit->memory = limit->next_memory;
}

enum unacked_verdict unacked_limit_check(struct unacked_limit *limit, uint32_t window,
	uint64_t body_limit, const struct pool_unacked *unacked)
{
	if (limit->has_departed && unacked->oldest_tag > limit->departed_tag)
		forget_departed(limit);
	if (unacked->memory > limit->memory)
		limit->memory = unacked->memory;
	if (unacked->count <= 1)
		return UNACKED_FITS;
	if (unacked->count > window + limit->departed + UNACKED_SLACK)
		return UNACKED_TOO_MANY;
	return unacked->bytes > 2 * limit->memory + body_limit ? UNACKED_TOO_LARGE : UNACKED_FITS;
}
