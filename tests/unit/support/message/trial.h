/* What the tests of copy_build share: a parcel with all that belongs to it, and its publish. */
#ifndef UNIT_TRIAL_H
#define UNIT_TRIAL_H

#include "core/tasks/output.h"
#include "message/copy.h"
#include "unit/support/message/message.h"

#define TRIAL_FRAME_MAX 131072

extern const struct copy_options trial_options;

/* All properties of AMQP, each with a different value. */
struct properties all_properties(void);

/* A parcel with all that belongs to it, and its publish. */
struct trial {
	struct buf task_headers, reply_headers, scratch;
	struct delivery *delivery;
	struct output *output;
	struct parcel parcel;
	struct amqp_publish publish;
	struct properties properties;
};

void trial_init(struct trial *t);
/* Build the copy, and check what holds for all copies. trial_run uses all_properties and
 * trial_options. */
void trial_run_with(struct trial *t, enum parcel_kind kind, const struct properties *given,
	const struct copy_options *with);
void trial_run(struct trial *t, enum parcel_kind kind);
void trial_release(struct trial *t);

#endif
