#include "base/stable_array.h"

#include <stdalign.h>
#include <stdlib.h>

struct block {
	void *before;
	alignas(max_align_t) char things[];
};

void stable_array_init(struct stable_array *stable_array, size_t size)
{
	*stable_array = (struct stable_array){.size = size};
}

void stable_array_release(struct stable_array *stable_array)
{
	while (stable_array->blocks) {
		struct block *block = stable_array->blocks;
		stable_array->blocks = block->before;
		free(block);
	}
	free(stable_array->at);
	stable_array_init(stable_array, stable_array->size);
}

enum rc stable_array_grow(struct stable_array *stable_array, uint32_t count)
{
	if (count <= stable_array->count)
		return RC_OK;
	size_t more = count - stable_array->count;
	void **at = calloc(count, sizeof *at);
	struct block *block = calloc(1, sizeof *block + more * stable_array->size);
	if (!at || !block) {
		free(at);
		free(block);
		return RC_MEMORY;
	}
	for (uint32_t i = 0; i < stable_array->count; i++)
		at[i] = stable_array->at[i];
	free(stable_array->at);
	stable_array->at = at;
	block->before = stable_array->blocks;
	stable_array->blocks = block;
	for (char *thing = block->things; stable_array->count < count; thing += stable_array->size)
		at[stable_array->count++] = thing;
	return RC_OK;
}
