#include "core/tasks/reason.h"

const char *reason_words(enum reason reason)
{
	static const char *const words[] = {
#define X(name, text) [name] = text,
		REASONS(X)
#undef X
	};
	return words[reason];
}
