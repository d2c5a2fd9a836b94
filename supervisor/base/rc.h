/* Result codes. Layer: base. Every function that can fail for a reason outside this program
 * returns one; its outputs are untouched unless it is RC_OK. The message for people is made
 * once, where the failure is handled. */
#ifndef BASE_RC_H
#define BASE_RC_H

#define RC_LIST(X)                                                                                 \
	X(RC_OK, "ok")                                                                             \
	X(RC_MEMORY, "out of memory")                                                              \
	X(RC_LIMIT, "over a limit")                                                                \
	X(RC_MALFORMED, "malformed")                                                               \
	X(RC_NOT_FOUND, "not found")                                                               \
	X(RC_REFUSED, "refused")                                                                   \
	X(RC_CLOSED, "closed")                                                                     \
	X(RC_SYSTEM, "system error") /* see errno */

enum rc {
#define X(code, text) code,
	RC_LIST(X)
#undef X
};

#define MUST_CHECK             __attribute__((warn_unused_result))
#define PRINTF_LIKE(at, first) __attribute__((format(printf, at, first)))

/* A text for a code, for a log line; never NULL. */
const char *rc_text(enum rc rc);

#endif
