/* What copies and dead letters must be, computed a second time from the contract: their attempt,
 * their delay, and the reasons for which a message may be given up. */
#ifndef SIM_COPIES_H
#define SIM_COPIES_H

#include "core/tasks/settle.h"
#include "sim/account.h"

/* What a worker that fails on this message asks for, in milliseconds; -1: nothing. */
int64_t copies_choose_output(uint32_t id);
/* For how long a worker postpones this message, in milliseconds. */
int64_t copies_choose_postpone(uint32_t id);
/* Check that a message is postponed for as long as its worker asked. */
void copies_check_postponed(const struct delivery *, mtime delay, mtime now);
/* Check that the policy allows another attempt after `delay`. failed: attempts before this one. */
void copies_check_retry(
	const struct settle_policy *, uint32_t id, enum reason, mtime delay, uint32_t failed);
/* Check that the message may be renewed, at the moment at which that is decided. */
void copies_check_renewal(const struct delivery *);
/* The facts of the copy that the parcel must be. known: those of its delivery. A parcel that the
 * policy does not allow ends the run. */
struct copy_facts copies_of(const struct settle_policy *, const struct parcel *,
	const struct copy_facts *known, mtime now);
/* Check that the message may be given up for this reason. */
void copies_give_up(const struct settle_policy *, struct message_account *, enum reason,
	const struct copy_facts *known);

#endif
