/* How the process keeps what it freed. Layer: io; of the C library's allocator, whose own habits
 * keep all that a burst of large messages once needed. */
#ifndef IO_MEMORY_H
#define IO_MEMORY_H

#include <stdbool.h>

/* Once, at the start: blocks of some megabytes are used again while work flows. */
void memory_prepare(void);
/* What is free goes back to the kernel, if it is worth it: a mebibyte in a calm moment, while at
 * work what is over 128. It takes some milliseconds, and was seen to take 200 where 65,000 free
 * blocks lay between used ones. */
void memory_give_back(bool at_work);

#endif
