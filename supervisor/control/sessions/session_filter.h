/* The where expression of requests about sessions: `state=parked backlog>100 key^=acme-`
 * (docs/control.md). Layer: control, pure. Conditions are separated by blanks, and all must hold. A
 * value with blanks stands in quotation marks, " or '. */
#ifndef CONTROL_SESSION_FILTER_H
#define CONTROL_SESSION_FILTER_H

#include "core/session_facts.h"

#define SESSION_FILTER_MAX 16 /* conditions */

enum session_field {
	SESSION_FIELD_KEY,
	SESSION_FIELD_STATE,
	SESSION_FIELD_REASON,
	SESSION_FIELD_BACKLOG, /* tasks that wait behind the front one */
	SESSION_FIELD_HIGH,    /* of them those of the high lane */
	SESSION_FIELD_NORMAL,
	SESSION_FIELD_ATTEMPTS, /* failed ones of the front task */
	SESSION_FIELD_FOR,      /* how long it has been in its state */
};

enum session_relation {
	SESSION_NOT,
	SESSION_MIN,
	SESSION_MAX,
	SESSION_PREFIX,
	SESSION_EQUAL,
	SESSION_ABOVE,
	SESSION_BELOW,
};

struct session_filter {
	size_t count;
	struct session_condition {
		enum session_field field;
		enum session_relation relation;
		struct text text; /* of a key; borrowed from the expression */
		int64_t number;   /* of the others: a state, a reason, a count, microseconds */
	} conditions[SESSION_FILTER_MAX];
};

struct session_filter_problem {
	size_t position; /* in characters, from 1 */
	char text[200];  /* escaped */
};

/* Parse an expression. False: it is malformed, and *ret_problem is where and why. An empty one is
 * malformed, too: it shall not mean all sessions. */
bool session_filter_parse(struct session_filter *ret, struct text expression,
	struct session_filter_problem *ret_problem);
bool session_filter_matches(const struct session_filter *, const struct session_facts *, mtime now);

#endif
