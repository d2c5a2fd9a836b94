/* Memory that runs out when a test says so. */
#ifndef UNIT_MEMORY_H
#define UNIT_MEMORY_H

/* So many more callocs find memory; LONG_MAX: all do. */
extern long callocs_left;

#endif
