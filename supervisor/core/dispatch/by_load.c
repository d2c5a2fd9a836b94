#include "core/dispatch/by_load.h"

#include <stdlib.h>

enum rc by_load_init(struct by_load *by_load, uint32_t max)
{
	*by_load = (struct by_load){.max = max, .lists = calloc(max, sizeof *by_load->lists)};
	if (!by_load->lists)
		return RC_MEMORY;
	for (uint32_t load = 0; load < max; load++)
		list_init(&by_load->lists[load]);
	return RC_OK;
}

void by_load_release(struct by_load *by_load)
{
	free(by_load->lists);
	*by_load = (struct by_load){0};
}

static void mark(struct by_load *by_load, uint32_t load)
{
	uint32_t word = load / BY_LOAD_BITS;
	by_load->words[word] |= UINT64_C(1) << load % BY_LOAD_BITS;
	by_load->groups[word / BY_LOAD_BITS] |= UINT64_C(1) << word % BY_LOAD_BITS;
}

static void unmark(struct by_load *by_load, uint32_t load)
{
	uint32_t word = load / BY_LOAD_BITS;
	by_load->words[word] &= ~(UINT64_C(1) << load % BY_LOAD_BITS);
	if (!by_load->words[word])
		by_load->groups[word / BY_LOAD_BITS] &= ~(UINT64_C(1) << word % BY_LOAD_BITS);
}

void by_load_append(struct by_load *by_load, struct pipe *pipe)
{
	list_append(&by_load->lists[pipe->load], &pipe->by_load);
	mark(by_load, pipe->load);
}

void by_load_prepend(struct by_load *by_load, struct pipe *pipe)
{
	list_prepend(&by_load->lists[pipe->load], &pipe->by_load);
	mark(by_load, pipe->load);
}

void by_load_remove(struct by_load *by_load, struct pipe *pipe)
{
	if (list_is_empty(&pipe->by_load))
		return;
	list_remove(&pipe->by_load);
	if (list_is_empty(&by_load->lists[pipe->load]))
		unmark(by_load, pipe->load);
}

struct pipe *by_load_first(const struct by_load *by_load)
{
	for (uint32_t group = 0; group < BY_LOAD_GROUPS; group++) {
		if (!by_load->groups[group])
			continue;
		uint32_t word =
			group * BY_LOAD_BITS + (uint32_t)__builtin_ctzll(by_load->groups[group]);
		uint32_t load =
			word * BY_LOAD_BITS + (uint32_t)__builtin_ctzll(by_load->words[word]);
		return CONTAINER_OF(list_first(&by_load->lists[load]), struct pipe, by_load);
	}
	return NULL;
}
