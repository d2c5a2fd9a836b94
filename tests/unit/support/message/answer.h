/* What the tests of answer_read share. */
#ifndef UNIT_ANSWER_H
#define UNIT_ANSWER_H

#include "core/tasks/output.h"
#include "message/answer.h"
#include "unit/support/message/message.h"

extern const struct answer_limits answer_plain_limits;

struct output *read_good(struct text frame);

#endif
