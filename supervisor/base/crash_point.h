/* Places where a test kills the supervisor. Layer: base. CRASH_POINT("copy-published") ends the
 * process like kill -9 if $WPOOL_CRASH_AT is "copy-published", or "copy-published:7" at the
 * seventh pass. Empty without -DWPOOL_CRASH_POINTS, which only tests/system.mk sets; never
 * installed. Never in core, which has no side effects. */
#ifndef BASE_CRASH_POINT_H
#define BASE_CRASH_POINT_H

#ifdef WPOOL_CRASH_POINTS
void crash_point(const char *label);
#define CRASH_POINT(label) crash_point(label)
#else
#define CRASH_POINT(label) ((void)0)
#endif

#endif
