#include "amqp/frame.h"

static const char *head_fault(uint8_t type, uint32_t payload_len, uint32_t frame_max)
{
	uint64_t limit = frame_max;

	switch (type) {
	case AMQP_FRAME_HEADER:
		limit += FRAME_HEADER_SLACK;
		break;
	case AMQP_FRAME_METHOD:
	case AMQP_FRAME_BODY:
	case AMQP_FRAME_HEARTBEAT:
		break;
	default:
		return "frame of unknown type";
	}
	return (uint64_t)payload_len + FRAME_OVERHEAD > limit ? "frame larger than frame-max"
							      : NULL;
}

enum frame_look frame_look(struct text bytes, uint32_t frame_max, struct frame *ret_frame)
{
	struct cursor c = cursor_of(bytes);
	struct frame frame = {.size = FRAME_HEAD};
	uint32_t payload_len;

	frame.type = cursor_take8(&c);
	frame.channel = cursor_take16(&c);
	payload_len = cursor_take32(&c);
	if (!c.is_short) {
		frame.size = (size_t)payload_len + FRAME_OVERHEAD;
		frame.payload = cursor_take(&c, payload_len);
	}
	if (bytes.len > 0)
		frame.fault = head_fault(frame.type, payload_len, frame_max);
	if (frame.fault == NULL && bytes.len >= frame.size && frame.size > FRAME_HEAD &&
		cursor_take8(&c) != AMQP_FRAME_END)
		frame.fault = "frame without its end octet";
	*ret_frame = frame;
	if (frame.fault)
		return FRAME_BAD;
	return frame.size > FRAME_HEAD && bytes.len >= frame.size ? FRAME_WHOLE : FRAME_PARTIAL;
}
