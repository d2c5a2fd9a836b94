/* The process's memory: who may read it, and what the allocator does with what was freed. Layer:
 * os. By default the allocator keeps all that a burst of large messages once needed. */
#ifndef OS_MEMORY_H
#define OS_MEMORY_H

#include "base/rc.h"

#include <stdbool.h>

/* Keep other processes of our own user from reading this process: neither its environment, memory
 * and descriptors in /proc nor ptrace; and it leaves no core file. Forks inherit it, an exec ends
 * it. Root still may. Call it before anything secret is read. False: see errno. */
bool memory_hide(void) MUST_CHECK;
/* Call once, at the start: blocks of some megabytes are reused. */
void memory_prepare(void);
/* Return free memory to the kernel if it pays: from 1 MiB when idle, from 128 MiB while busy.
 * Takes some milliseconds; 200 were measured with 65,000 free blocks between used ones. */
void memory_give_back(bool at_work);

#endif
