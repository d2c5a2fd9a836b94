/* Places where a test kills the supervisor: CRASH_POINT("copy-published") ends the process, as kill
 * -9 would, where $WPOOL_CRASH_AT says "copy-published", or "copy-published:7" for the seventh time
 * that it is passed. Layer: base. Compiles to nothing but with -DWPOOL_CRASH_POINTS, which only
 * tests/system.mk sets; no part of what is installed. Never in core, which has no side effects. */
#ifndef BASE_CRASH_POINT_H
#define BASE_CRASH_POINT_H

#ifdef WPOOL_CRASH_POINTS
void crash_point(const char *label);
#define CRASH_POINT(label) crash_point(label)
#else
#define CRASH_POINT(label) ((void)0)
#endif

#endif
