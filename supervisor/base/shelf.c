#include "base/shelf.h"

#include <stdalign.h>
#include <stdlib.h>

struct board {
	void *before;
	alignas(max_align_t) char things[];
};

void shelf_init(struct shelf *shelf, size_t size)
{
	*shelf = (struct shelf){.size = size};
}

void shelf_release(struct shelf *shelf)
{
	while (shelf->boards) {
		struct board *board = shelf->boards;
		shelf->boards = board->before;
		free(board);
	}
	free(shelf->at);
	shelf_init(shelf, shelf->size);
}

static void put_on(struct shelf *shelf, struct board *board, uint32_t count)
{
	board->before = shelf->boards;
	shelf->boards = board;
	for (char *thing = board->things; shelf->count < count; thing += shelf->size)
		shelf->at[shelf->count++] = thing;
}

enum rc shelf_grow(struct shelf *shelf, uint32_t count)
{
	if (count <= shelf->count)
		return RC_OK;
	size_t more = count - shelf->count;
	void **at = calloc(count, sizeof *at);
	struct board *board = calloc(1, sizeof *board + more * shelf->size);
	if (!at || !board) {
		free(at);
		free(board);
		return RC_MEMORY;
	}
	for (uint32_t i = 0; i < shelf->count; i++)
		at[i] = shelf->at[i];
	free(shelf->at);
	shelf->at = at;
	put_on(shelf, board, count);
	return RC_OK;
}
