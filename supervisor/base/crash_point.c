#include "base/crash_point.h"

#ifdef WPOOL_CRASH_POINTS

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void crash_point(const char *label)
{
	static long passed; /* test builds only: one label is counted at a time */
	const char *wish = getenv("WPOOL_CRASH_AT");
	size_t length = strlen(label);

	if (!wish || strncmp(wish, label, length) != 0 || !strchr(":", wish[length]))
		return;
	if (++passed == (wish[length] ? atol(wish + length + 1) : 1))
		kill(getpid(), SIGKILL);
}

#else

typedef int crash_point_is_not_built; /* a translation unit may not be empty */

#endif
