#include "core/sessions/session_kinds.h"

const char *session_state_name(enum session_state state)
{
#define X(state, text) text,
	static const char *const names[] = {SESSION_STATES(X)};
#undef X
	return names[state];
}

const char *session_end_name(enum session_end end)
{
#define X(end, text) text,
	static const char *const names[] = {SESSION_ENDS(X)};
#undef X
	return names[end];
}

const char *renewal_name(enum renewal renewal)
{
#define X(renewal, text, why) text,
	static const char *const names[] = {RENEWALS(X)};
#undef X
	return names[renewal];
}

const char *renewal_why(enum renewal renewal)
{
#define X(renewal, text, why) why,
	static const char *const clauses[] = {RENEWALS(X)};
#undef X
	return clauses[renewal];
}
