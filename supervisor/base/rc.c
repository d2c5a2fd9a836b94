#include "base/rc.h"

#include <stddef.h>

const char *rc_text(enum rc rc)
{
	static const char *const words[] = {
#define X(code, text) [code] = text,
		RC_LIST(X)
#undef X
	};
	size_t i = (size_t)rc;
	return i < sizeof words / sizeof *words ? words[i] : "unknown result";
}
