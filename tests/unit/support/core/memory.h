/* Memory that runs out when a test wants it. */
#ifndef UNIT_MEMORY_H
#define UNIT_MEMORY_H

/* The number of callocs that still succeed; LONG_MAX: all. */
extern long callocs_left;

#endif
