/* What the tests of task_write share: take a frame out of the buffer and check it. */
#ifndef UNIT_TASK_H
#define UNIT_TASK_H

#include "unit/support/message/message.h"
#include "wire/frame.h"

#define TASK_LIMIT 65536

extern const struct task_options task_plain_options;

/* The frame for this delivery, without its length, which is checked. */
struct bytes frame_of(const struct delivery *d, const struct task_options *options);
void assert_frame(const struct delivery *d, const struct task_options *options, const char *hex,
	const char *label);

#endif
