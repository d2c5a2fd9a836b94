/* What every fuzz target shares. A target is one file of targets/ and defines fuzz_memory and
 * fuzz_one; linked with libFuzzer it searches (`make fuzz`), with replay.c it plays the kept
 * corpus (`make fuzz-check`, part of `make test`). Between two inputs a target keeps only what it
 * opened once. A finding ends the process. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include "base/text.h"
#include <stddef.h>
#include <stdint.h>

/* The maximum of memory that a decoder may hold: base + multiple * the size of its input; after the
 * input, kept. More ends the process. base is for fixed costs (the buffer of one read, tables of a
 * fixed size), not a reserve for hostile bytes; kept is for static memory that grows. */
struct fuzz_memory {
	size_t base;
	size_t multiple;
	size_t kept;
};

/* Defined by the target. input is in a block of exactly its size. */
extern const struct fuzz_memory fuzz_memory;
void fuzz_one(struct text input);

/* The entry for libFuzzer and replay.c. Run fuzz_one and count its memory. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* End the process with the text of the condition, in every build. */
#define FUZZ_REQUIRE(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))
void fuzz_fail(const char *file, int line, const char *words) __attribute__((noreturn));

#endif
