/* Count the bytes that are allocated for one input, and end the process if they are too many: by
 * the sanitizer's hooks, or without a sanitizer by an allocator in front of glibc's. At exit, one
 * line on stderr has the maximum of all inputs. */
#ifndef FUZZ_MEMORY_H
#define FUZZ_MEMORY_H

#include "fuzz/fuzz.h"

/* Count from here to memory_end. */
void memory_begin(const struct fuzz_memory *, size_t input);
void memory_end(void);
/* Between these two calls nothing is counted. Memory allocated there must be freed there. */
void memory_pause(void);
void memory_resume(void);

#endif
