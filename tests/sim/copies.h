/* What copies and dead letters must be, worked out a second time from the contract: which attempt
 * they stand for, how long they wait, and why a message may be given up. */
#ifndef SIM_COPIES_H
#define SIM_COPIES_H

#include "core/tasks/settle.h"
#include "sim/account.h"

/* What a worker that fails on this message asks for, in milliseconds; -1: nothing. */
int64_t copies_choose_output(uint32_t id);
/* What is to be stored for the parcel of a delivery of which this is known; a parcel that ought not
 * to be ends the run. */
struct copy_facts copies_of(const struct settle_policy *, const struct parcel *,
	const struct copy_facts *known, mtime now);
/* The message is given up for this reason: may it be? */
void copies_give_up(const struct settle_policy *, struct message_account *, enum reason,
	const struct copy_facts *known);

#endif
