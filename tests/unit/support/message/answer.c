#include "unit/support/message/answer.h"

const struct answer_limits answer_plain_limits = {.header_bytes = 1000, .body_bytes = 1000};

struct output *read_good(struct text frame)
{
	struct output *output = NULL;
	struct answer_fault fault = {0};
	enum rc rc = answer_read(frame, &answer_plain_limits, &output, &fault);
	ck_assert_msg(rc == RC_OK, "%s: %s", rc_text(rc), fault.what);
	return output;
}
