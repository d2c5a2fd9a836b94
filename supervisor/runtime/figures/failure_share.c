#include "runtime/figures/failure_share.h"

unsigned failure_share_failed(const struct failure_share *share)
{
	return (unsigned)__builtin_popcountll(share->failures);
}

/* Two thresholds, so that a pool near one of them does not change with each attempt. */
static bool is_high_share(const struct failure_share *share)
{
	unsigned failed = failure_share_failed(share);

	if (share->attempts < FAILURE_SHARE_MIN)
		return false;
	return share->is_high ? 4 * failed > share->attempts : 2 * failed >= share->attempts;
}

bool failure_share_add(struct failure_share *share, bool has_failed)
{
	bool was_high = share->is_high;

	share->failures = share->failures << 1 | has_failed;
	share->failures &= (UINT64_C(1) << FAILURE_SHARE_LATEST) - 1;
	share->attempts += share->attempts < FAILURE_SHARE_LATEST;
	share->is_high = is_high_share(share);
	return share->is_high != was_high;
}
