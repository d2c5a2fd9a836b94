#include "base/rc.h"

#include <stddef.h>

const char *rc_text(enum rc rc)
{
	static const char *const texts[] = {
#define X(code, text) [code] = text,
		RC_LIST(X)
#undef X
	};
	size_t i = (size_t)rc;
	return i < sizeof texts / sizeof *texts ? texts[i] : "unknown result";
}
