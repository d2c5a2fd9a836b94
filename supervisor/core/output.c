#include "core/output.h"

#include <stdlib.h>

struct output *output_new(size_t room)
{
	if (room > SIZE_MAX - sizeof(struct output))
		return NULL;
	struct output *output = malloc(sizeof *output + room);
	if (!output)
		return NULL;
	*output = (struct output){.retry_after_ms = -1, .room = room};
	return output;
}

void output_free(struct output *output)
{
	free(output);
}

size_t output_size(const struct output *output)
{
	return sizeof *output + output->room;
}
