#include "core/tasks/output.h"

#include <stdlib.h>
#include <string.h>

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

/* t points into the bytes of before, or is empty. */
static void rebase(struct text *t, const struct output *before, const struct output *after)
{
	if (t->len > 0)
		t->ptr = (const char *)after->bytes + (t->ptr - (const char *)before->bytes);
}

struct output *output_add_stderr_line(struct output *output, struct text line)
{
	struct output *more = output_new(output->room + line.len);
	if (!more)
		return output;
	size_t room = more->room;
	memcpy(more, output, sizeof *output + output->room);
	more->room = room;
	rebase(&more->body, output, more);
	rebase(&more->headers, output, more);
	rebase(&more->reply_queue, output, more);
	rebase(&more->content_type, output, more);
	memcpy(more->bytes + output->room, line.ptr, line.len);
	more->stderr_line = text_of(more->bytes + output->room, line.len);
	output_free(output);
	return more;
}

void output_free(struct output *output)
{
	free(output);
}

size_t output_size(const struct output *output)
{
	return sizeof *output + output->room;
}
