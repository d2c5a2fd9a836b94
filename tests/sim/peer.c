#include "sim/peer.h"

#include "sim/fail.h"

#define FRAME_OVERHEAD 8
#define FRAME_HEADER   7
#define FRAME_END      0xce
#define CLASS_BASIC    60
#define CONTENT_HEADER 12 /* class, weight, size of the body */

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

bool peer_take_frame(struct buf *in, struct peer_frame *ret)
{
	const uint8_t *bytes = in->bytes + in->head;
	uint32_t len;

	if (buf_len(in) < FRAME_HEADER)
		return false;
	len = be32(bytes + 3);
	sim_require(len <= PEER_FRAME_MAX - FRAME_OVERHEAD, "a frame over frame_max was sent");
	if (buf_len(in) < (size_t)len + FRAME_OVERHEAD)
		return false;
	sim_require(bytes[FRAME_HEADER + len] == FRAME_END, "a frame without its end octet");
	ret->type = bytes[0];
	ret->channel = (uint16_t)(bytes[1] << 8 | bytes[2]);
	ret->payload = text_of(bytes + FRAME_HEADER, len);
	buf_consume(in, (size_t)len + FRAME_OVERHEAD);
	return true;
}

void *peer_decode(const struct peer_frame *frame, amqp_pool_t *pool, amqp_method_number_t *ret_id)
{
	amqp_bytes_t arguments = {frame->payload.len - 4, (char *)frame->payload.ptr + 4};
	void *method = NULL;

	*ret_id = be32((const uint8_t *)frame->payload.ptr);
	sim_require(amqp_decode_method(*ret_id, pool, arguments, &method) == AMQP_STATUS_OK,
		"a method that its codec cannot read");
	return method;
}

static void put_be16(uint8_t *p, uint16_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static void put_be32(uint8_t *p, uint32_t value)
{
	put_be16(p, (uint16_t)(value >> 16));
	put_be16(p + 2, (uint16_t)value);
}

static void put_header(uint8_t *p, uint8_t type, uint16_t channel, size_t len)
{
	p[0] = type;
	put_be16(p + 1, channel);
	put_be32(p + 3, (uint32_t)len);
}

void peer_send_frame(struct buf *out, uint8_t type, uint16_t channel, struct text payload)
{
	uint8_t header[FRAME_HEADER];

	put_header(header, type, channel, payload.len);
	buf_append(out, header, sizeof header);
	buf_append_text(out, payload);
	buf_append_byte(out, FRAME_END);
}

void peer_send_method(struct buf *out, uint16_t channel, amqp_method_number_t id, void *method)
{
	uint8_t frame[4096];
	uint8_t *arguments = frame + FRAME_HEADER + 4;
	amqp_bytes_t buffer = {sizeof frame - FRAME_OVERHEAD - 4, arguments};
	int len = amqp_encode_method(id, method, buffer);

	sim_require(len >= 0, "the fake broker cannot encode a method");
	put_header(frame, AMQP_FRAME_METHOD, channel, (size_t)len + 4);
	put_be32(frame + FRAME_HEADER, id);
	arguments[len] = FRAME_END;
	buf_append(out, frame, FRAME_OVERHEAD + 4 + (size_t)len);
}

void peer_send_content(struct buf *out, uint16_t channel, struct text properties, struct text body)
{
	size_t max = PEER_FRAME_MAX - FRAME_OVERHEAD;
	uint8_t start[FRAME_HEADER + CONTENT_HEADER];

	put_header(start, AMQP_FRAME_HEADER, channel, CONTENT_HEADER + properties.len);
	put_be32(start + FRAME_HEADER, CLASS_BASIC << 16);
	put_be32(start + FRAME_HEADER + 4, (uint32_t)((uint64_t)body.len >> 32));
	put_be32(start + FRAME_HEADER + 8, (uint32_t)body.len);
	buf_append(out, start, sizeof start);
	buf_append_text(out, properties);
	buf_append_byte(out, FRAME_END);
	while (body.len > 0) {
		struct text part = text_of(body.ptr, body.len < max ? body.len : max);

		peer_send_frame(out, AMQP_FRAME_BODY, channel, part);
		body = text_of(body.ptr + part.len, body.len - part.len);
	}
}

void peer_put_element(struct buf *array, const struct table_field *field)
{
	struct table_field element = *field;
	size_t before = buf_len(array);
	uint8_t *start;

	element.key = TEXT_NONE;
	table_put_field(array, &element);
	sim_require(!array->failed, "no memory for an array");
	start = array->bytes + array->head + before;
	memmove(start, start + 1, buf_len(array) - before - 1); /* the length of the key */
	buf_truncate(array, buf_len(array) - 1);
}

amqp_bytes_t peer_bytes(struct text text)
{
	return (amqp_bytes_t){text.len, (void *)text.ptr};
}

struct text peer_text(amqp_bytes_t bytes)
{
	return text_of(bytes.bytes, bytes.len);
}
