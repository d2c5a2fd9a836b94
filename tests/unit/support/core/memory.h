/* Memory that runs out when a test wants it. */
#ifndef UNIT_MEMORY_H
#define UNIT_MEMORY_H

/* The number of calls of calloc and aligned_alloc, and of malloc and realloc together, that still
 * succeed; LONG_MAX: all. */
extern long callocs_left, mallocs_left;

#endif
