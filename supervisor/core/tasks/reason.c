#include "core/tasks/reason.h"

const char *reason_name(enum reason reason)
{
	static const char *const names[] = {
#define X(name, text) [name] = text,
		REASONS(X)
#undef X
	};
	return names[reason];
}
