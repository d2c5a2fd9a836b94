/* What every fuzz target shares. A target is one file of targets/ and defines fuzz_memory and
 * fuzz_one; linked with libFuzzer it searches (`make fuzz`), with replay.c it plays the corpus that
 * is in the tree (`make fuzz-check`, and so `make test`).
 * A target owns nothing between two inputs but what it opened once; what it finds wrong ends the
 * process. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include "base/text.h"
#include <stddef.h>
#include <stdint.h>

/* What a decoder may hold at once: base, and multiple times the bytes of its input. More ends the
 * process at the allocation that is one too many; and so does a byte more than kept that is still
 * held when the input is over. base is what it costs to be there at all (one read's room, tables of
 * a fixed size), not a reserve for hostile bytes; kept is for what is static and grows. */
struct fuzz_memory {
	size_t base;
	size_t multiple;
	size_t kept;
};

/* The target's. input lies in a block of exactly its size. */
extern const struct fuzz_memory fuzz_memory;
void fuzz_one(struct text input);

/* libFuzzer's entry; also replay.c's. Runs fuzz_one with its memory counted. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process with the condition's words, in every build. */
#define FUZZ_REQUIRE(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))
void fuzz_fail(const char *file, int line, const char *words) __attribute__((noreturn));

#endif
