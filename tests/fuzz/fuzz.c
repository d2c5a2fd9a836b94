#include "fuzz/fuzz.h"

#include "fuzz/memory.h"
#include <stdio.h>
#include <stdlib.h>

void fuzz_fail(const char *file, int line, const char *words)
{
	fprintf(stderr, "%s:%d: required: %s\n", file, line, words);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	memory_begin(&fuzz_memory, size);
	fuzz_one(text_of(size > 0 ? (const char *)data : "", size));
	memory_end();
	return 0;
}
