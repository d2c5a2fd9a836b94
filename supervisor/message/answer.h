/* Read a worker's output frame. Layer: message. Implements PROTOCOL.md, section 6, with the other
 * forms that it accepts, and what section 15 allows existing workers: a bare str as status 500. */
#ifndef MESSAGE_ANSWER_H
#define MESSAGE_ANSWER_H

#include "base/rc.h"
#include "core/tasks/output.h"

struct answer_limits {
	uint32_t header_bytes;    /* maximum of a reply's AMQP header table: what fits into a header
				     frame */
	uint64_t body_bytes;      /* maximum of a reply's body */
	bool bare_str_is_failure; /* pipe: corefx; elsewhere a bare str is a protocol error */
};

/* frame: one frame without its length. RC_OK: the caller owns *ret; if it cannot be published, its
 * .invalid has the reason. RC_MALFORMED: a protocol error, and *ret_what is a static text for the
 * log. RC_MEMORY. */
enum rc answer_read(struct text frame, const struct answer_limits *, struct output **ret,
	const char **ret_what) MUST_CHECK;

#endif
