#include "unit/support/message/answer.h"

const struct answer_limits answer_plain_limits = {.header_bytes = 1000, .body_bytes = 1000};

struct output *read_good(struct text frame)
{
	struct output *output = NULL;
	const char *what = "";
	enum rc rc = answer_read(frame, &answer_plain_limits, &output, &what);
	ck_assert_msg(rc == RC_OK, "%s: %s", rc_text(rc), what);
	return output;
}
