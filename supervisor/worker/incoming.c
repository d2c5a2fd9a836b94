#include "worker/incoming.h"

#include "wire/frame.h"
#include <string.h>

enum rc incoming_first(
	struct text bytes, size_t limit, struct text *ret, struct answer_fault *ret_fault)
{
	if (bytes.len < WIRE_LENGTH_BYTES)
		return RC_NOT_FOUND;
	uint32_t len = wire_get_length((const uint8_t *)bytes.ptr);
	if (len == 0 || len > limit) {
		ret_fault->what = len == 0 ? "a frame of no length" : "a frame over max_frame";
		ret_fault->task_id = 0;
		fault_detail_length(ret_fault->detail, bytes, limit);
		return RC_MALFORMED;
	}
	if (bytes.len - WIRE_LENGTH_BYTES < len)
		return RC_NOT_FOUND;
	*ret = text_of(bytes.ptr + WIRE_LENGTH_BYTES, len);
	return RC_OK;
}

void incoming_init(struct incoming *incoming, size_t limit)
{
	buf_init(&incoming->bytes, limit);
	incoming_forget(incoming);
}

void incoming_forget(struct incoming *incoming)
{
	incoming->unfinished = 0;
}

/* A frame that is whole could not be handled, because memory was short. */
static bool is_whole(struct text bytes)
{
	return bytes.len >= WIRE_LENGTH_BYTES &&
	       bytes.len - WIRE_LENGTH_BYTES >= wire_get_length((const uint8_t *)bytes.ptr);
}

void incoming_end(struct incoming *incoming)
{
	struct text bytes = buf_text(&incoming->bytes);

	if (bytes.len > 0 && !is_whole(bytes)) {
		memcpy(incoming->head, bytes.ptr,
			bytes.len < INCOMING_HEAD ? bytes.len : INCOMING_HEAD);
		incoming->unfinished = bytes.len;
	}
	buf_release(&incoming->bytes);
}

bool incoming_describe(const struct incoming *incoming, char ret[FAULT_DETAIL_SIZE])
{
	size_t len = incoming->unfinished;

	if (len > 0)
		fault_detail_half(ret,
			text_of(incoming->head, len < INCOMING_HEAD ? len : INCOMING_HEAD), len);
	return len > 0;
}
