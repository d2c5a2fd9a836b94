#include "worker/outgoing.h"

/* A body that makes a worker count as full: there is seldom a second one behind it. */
#define LARGE_MIN OUTPUT_HIGH

void outgoing_init(struct outgoing *out, size_t limit)
{
	*out = (struct outgoing){0};
	buf_init(&out->bytes, limit);
}

static void release_large(struct outgoing *out)
{
	if (out->large)
		delivery_release(out->large);
	out->large = NULL;
	out->before = 0;
	out->body = TEXT_NONE;
}

void outgoing_drop(struct outgoing *out)
{
	release_large(out);
	buf_release(&out->bytes);
}

size_t outgoing_len(const struct outgoing *out)
{
	return buf_len(&out->bytes) + out->body.len;
}

enum rc outgoing_add(struct outgoing *out, struct delivery *delivery,
	const struct task_options *options, uint16_t attempt, int64_t deadline_ms)
{
	struct task_gap gap = {.size_min = out->large ? SIZE_MAX : LARGE_MIN};
	size_t before = buf_len(&out->bytes);
	enum rc rc = task_write(delivery, options, attempt, deadline_ms, &out->bytes, &gap);

	if (rc != RC_OK || gap.body.len == 0)
		return rc;
	delivery_hold(delivery);
	out->large = delivery;
	out->before = before + gap.at;
	out->body = gap.body;
	return RC_OK;
}

static int add_part(struct iovec ret[OUTGOING_PARTS], int count, struct text bytes)
{
	if (bytes.len == 0)
		return count;
	ret[count] = (struct iovec){.iov_base = (void *)bytes.ptr, .iov_len = bytes.len};
	return count + 1;
}

int outgoing_parts(const struct outgoing *out, struct iovec ret[OUTGOING_PARTS])
{
	struct text bytes = buf_text(&out->bytes);
	int count;

	if (bytes.len == 0) /* a body never stands alone */
		return 0;
	count = add_part(ret, 0, text_of(bytes.ptr, out->before));
	count = add_part(ret, count, out->body);
	return add_part(ret, count, text_of(bytes.ptr + out->before, bytes.len - out->before));
}

void outgoing_consume(struct outgoing *out, size_t len)
{
	size_t head = len < out->before ? len : out->before;
	size_t body = len - head < out->body.len ? len - head : out->body.len;

	buf_consume(&out->bytes, head + (len - head - body));
	out->before -= head;
	out->body = text_of(out->body.ptr + body, out->body.len - body);
	if (out->large && out->body.len == 0)
		release_large(out);
}
