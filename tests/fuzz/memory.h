/* Counts the bytes that one input makes us hold, and ends the process when they are too many: by
 * the sanitizer's hooks, or by an allocator in front of glibc's where there is no sanitizer.
 * At exit one line on stderr tells the most that any input needed. */
#ifndef FUZZ_MEMORY_H
#define FUZZ_MEMORY_H

#include "fuzz/fuzz.h"

/* From here to memory_end every byte counts. */
void memory_begin(const struct fuzz_memory *, size_t input);
void memory_end(void);
/* Around what only the test needs; what is allocated within is freed within. */
void memory_pause(void);
void memory_resume(void);

#endif
