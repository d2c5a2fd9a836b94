/* Read a worker's output frame. Layer: message. Implements PROTOCOL.md, section 6, with the other
 * forms that it accepts, and what section 15 allows existing workers: a bare str as status 500. */
#ifndef MESSAGE_ANSWER_H
#define MESSAGE_ANSWER_H

#include "base/rc.h"
#include "core/tasks/output.h"
#include "message/fault_detail.h"

struct answer_limits {
	uint32_t header_bytes;    /* maximum of a reply's AMQP header table: what fits into a header
				     frame */
	uint64_t body_bytes;      /* maximum of a reply's body */
	bool bare_str_is_failure; /* pipe: corefx; elsewhere a bare str is a protocol error */
};

/* A protocol error. */
struct answer_fault {
	const char *what; /* static text for the log */
	uint64_t task_id; /* that the frame names before or behind the fault; 0: none, or the frame
			     is not one whole MessagePack map, so that no part of it is certain */
	char detail[FAULT_DETAIL_SIZE]; /* what came instead, escaped; may be empty */
};

/* frame: one frame without its length. RC_OK: the caller owns *ret; if it cannot be published, its
 * .invalid has the reason. RC_MALFORMED: a protocol error, and *ret_fault is set. RC_MEMORY. */
enum rc answer_read(struct text frame, const struct answer_limits *, struct output **ret,
	struct answer_fault *ret_fault) MUST_CHECK;

#endif
