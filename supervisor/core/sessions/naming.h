/* Which message the token names. Layer: core, plain data; sessions_naming.c writes it. */
#ifndef CORE_SESSIONS_NAMING_H
#define CORE_SESSIONS_NAMING_H

#include "base/mtime.h"
#include <stdbool.h>

/* After supervisors died in a row: messages of sessions that were delivered before are sent one at
 * a time, and each is named in the token before. So the next supervisor knows which one killed this
 * one. */
struct naming {
	mtime until;    /* 0: not now */
	uint64_t tag;   /* of the message that is named, or is to be; 0: none */
	uint32_t epoch; /* of the tag */
	uint64_t life;  /* of its session */
	bool is_named;  /* TOKEN_NAMED has come */
	bool is_sent;   /* it is in a pipe */
};

#endif
