/* What the allocator does with freed memory. Layer: os. By default it keeps all that a burst of
 * large messages once needed. */
#ifndef OS_MEMORY_H
#define OS_MEMORY_H

#include <stdbool.h>

/* Call once, at the start: blocks of some megabytes are reused. */
void memory_prepare(void);
/* Return free memory to the kernel if it pays: from 1 MiB when idle, from 128 MiB while busy.
 * Takes some milliseconds; 200 were measured with 65,000 free blocks between used ones. */
void memory_give_back(bool at_work);

#endif
