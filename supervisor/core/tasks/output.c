#include "core/tasks/output.h"

#include <stdlib.h>
#include <string.h>

struct output *output_new(size_t size)
{
	if (size > SIZE_MAX - sizeof(struct output))
		return NULL;
	struct output *output = malloc(sizeof *output + size);
	if (!output)
		return NULL;
	*output = (struct output){.retry_after_ms = -1,
		.postpone_ms = -1,
		.hard_limit_ms = -1,
		.soft_ms = -1,
		.size = size};
	return output;
}

/* t points into the bytes of before, or is empty. */
static void rebase(struct text *t, const struct output *before, const struct output *after)
{
	if (t->len > 0)
		t->ptr = (const char *)after->bytes + (t->ptr - (const char *)before->bytes);
}

/* Return a copy with more bytes, of which *ret is the beginning; the old output moves in. NULL: out
 * of memory, and the old one stays. */
static struct output *enlarge(struct output *output, size_t by, uint8_t **ret)
{
	struct output *more = output_new(output->size + by);
	if (!more)
		return NULL;
	size_t size = more->size;
	memcpy(more, output, sizeof *output + output->size);
	more->size = size;
	rebase(&more->body, output, more);
	rebase(&more->headers, output, more);
	rebase(&more->reply_queue, output, more);
	rebase(&more->content_type, output, more);
	rebase(&more->stderr_line, output, more);
	rebase(&more->detail, output, more);
	*ret = more->bytes + output->size;
	output_free(output);
	return more;
}

struct output *output_add_stderr_line(struct output *output, struct text line)
{
	uint8_t *place;
	struct output *more = enlarge(output, line.len, &place);
	if (!more)
		return output;
	memcpy(place, line.ptr, line.len);
	more->stderr_line = text_of(place, line.len);
	return more;
}

struct output *output_add_detail(struct output *output, struct text detail)
{
	uint8_t *place;
	if (detail.len == 0)
		return output;
	struct output *before = output ? output : output_new(0);
	struct output *more = before ? enlarge(before, detail.len, &place) : NULL;
	if (!more)
		return before;
	memcpy(place, detail.ptr, detail.len);
	more->detail = text_of(place, detail.len);
	return more;
}

static struct text append(struct output *output, struct text text)
{
	uint8_t *at = output->bytes + output->size;
	if (text.len == 0)
		return TEXT_NONE;
	memcpy(at, text.ptr, text.len);
	output->size += text.len;
	return text_of(at, text.len);
}

struct output *output_copy_of(struct text body, struct text headers, struct text content_type)
{
	struct output *output = output_new(body.len + headers.len + content_type.len);
	if (!output)
		return NULL;
	output->size = 0;
	output->body = append(output, body);
	output->headers = append(output, headers);
	output->content_type = append(output, content_type);
	return output;
}

struct output *output_of_failure(struct output *output)
{
	if (!output)
		return NULL;
	struct output *failure = output_new(output->stderr_line.len + output->detail.len);
	if (failure) {
		failure->size = 0;
		failure->status = output->status;
		failure->stderr_line = append(failure, output->stderr_line);
		failure->detail = append(failure, output->detail);
	}
	output_free(output);
	return failure;
}

void output_free(struct output *output)
{
	free(output);
}

size_t output_size(const struct output *output)
{
	return sizeof *output + output->size;
}
