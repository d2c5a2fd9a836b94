/* How the process keeps what it freed. Layer: io; of the C library's allocator, whose own habits
 * keep all that a burst of large messages once needed. */
#ifndef IO_MEMORY_H
#define IO_MEMORY_H

/* Once, at the start: what is freed of large blocks goes back to the kernel at once. */
void memory_prepare(void);
/* So does what there is of small ones, if it is worth it. For a calm moment: it takes
 * some milliseconds, and was seen to take 200 where 65,000 free blocks lay between used ones. */
void memory_give_back(void);

#endif
