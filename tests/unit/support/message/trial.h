/* What the tests of copy_build share: a parcel, all that belongs to it, and what went out for it.
 */
#ifndef UNIT_TRIAL_H
#define UNIT_TRIAL_H

#include "core/tasks/output.h"
#include "message/copy.h"
#include "unit/support/message/message.h"

#define TRIAL_FRAME_MAX 131072

extern const struct copy_options trial_options;

/* Everything AMQP has, each with a value of its own. */
struct properties all_properties(void);

/* One parcel with all that belongs to it, and what became of it. */
struct trial {
	struct buf task_headers, reply_headers, scratch;
	struct delivery *delivery;
	struct output *output;
	struct parcel parcel;
	struct amqp_publish publish;
	struct properties properties;
};

void trial_init(struct trial *t);
/* Builds the copy, and checks what is so for every copy; trial_run has all the properties and the
 * options above. */
void trial_run_with(struct trial *t, enum parcel_kind kind, const struct properties *given,
	const struct copy_options *with);
void trial_run(struct trial *t, enum parcel_kind kind);
void trial_release(struct trial *t);

#endif
