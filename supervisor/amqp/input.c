#include "amqp/connection_internal.h"

#include <stdio.h>

static void take_heartbeat(struct connection *c, const struct frame *frame)
{
	if (frame->channel != 0 || frame->payload.len != 0)
		connection_fail(c, RC_MALFORMED, AMQP_FRAME_ERROR, "malformed heartbeat");
	else if (c->state < CONNECTION_OPENING)
		connection_fail(c, RC_MALFORMED, AMQP_UNEXPECTED_FRAME,
			"heartbeat before its interval was agreed on");
}

static void take_frame(struct connection *c, const struct frame *frame)
{
	struct channel *ch = connection_channel(c, frame->channel);

	if (frame->type == AMQP_FRAME_HEARTBEAT)
		take_heartbeat(c, frame);
	else if (frame->channel == 0 && frame->type == AMQP_FRAME_METHOD)
		control_take_method(c, frame->payload);
	else if (c->state == CONNECTION_CLOSING)
		return;
	else if (frame->channel == 0)
		connection_fail(c, RC_MALFORMED, AMQP_UNEXPECTED_FRAME, "content on channel 0");
	else if (c->state != CONNECTION_OPEN)
		connection_fail(c, RC_MALFORMED, AMQP_UNEXPECTED_FRAME,
			"frame on channel %u before the connection is open", frame->channel);
	else if (ch == NULL || ch->state == CHANNEL_CLOSED)
		connection_fail(c, RC_MALFORMED, AMQP_CHANNEL_ERROR,
			"frame on channel %u, which is not open", frame->channel);
	else if (frame->type == AMQP_FRAME_METHOD)
		replies_take_method(c, ch, frame->payload);
	else if (ch->state == CHANNEL_CLOSING)
		return;
	else if (frame->type == AMQP_FRAME_HEADER)
		content_take_header(c, ch, frame->payload);
	else
		content_take_body(c, ch, frame->payload);
}

/* A peer of another version answers with a protocol header of its own. */
static bool is_protocol_header(const struct connection *c, struct text bytes)
{
	size_t len = bytes.len < 4 ? bytes.len : 4;

	return c->state == CONNECTION_GREETED && len > 0 &&
	       memcmp(bytes.ptr, PROTOCOL_HEADER, len) == 0;
}

static bool take_protocol_header(struct connection *c, struct text bytes)
{
	const uint8_t *version = (const uint8_t *)bytes.ptr + 4;

	if (bytes.len < PROTOCOL_HEADER_SIZE)
		return false;
	/* This peer would not understand connection.close. */
	struct amqp_event event = {.kind = AMQP_CLOSED, .code = AMQP_NOT_IMPLEMENTED};
	char text[64];

	snprintf(text, sizeof text, "the peer speaks AMQP %u-%u-%u-%u, not 0-9-1", version[0],
		version[1], version[2], version[3]);
	event.text = text_from(text);
	connection_end(c, RC_CLOSED);
	connection_emit(c, &event);
	return true;
}

/* Handle the first frame of bytes. False: it is incomplete, or it ended the connection. */
static bool take_next(struct connection *c, struct text *bytes)
{
	struct frame frame;

	if (is_protocol_header(c, *bytes))
		return take_protocol_header(c, *bytes);
	switch (frame_look(*bytes, c->frame_max, &frame)) {
	case FRAME_PARTIAL:
		return false;
	case FRAME_BAD:
		connection_fail(c, RC_MALFORMED, AMQP_FRAME_ERROR, "%s", frame.fault);
		return false;
	case FRAME_WHOLE:
		break;
	}
	bytes->ptr += frame.size;
	bytes->len -= frame.size;
	take_frame(c, &frame);
	return true;
}

/* Move len bytes to the end of the incomplete frame. */
static void keep(struct connection *c, struct text *bytes, size_t len)
{
	buf_append(&c->partial, bytes->ptr, len);
	if (c->partial.failed) {
		connection_fail(c, RC_MEMORY, AMQP_RESOURCE_ERROR, "no memory for a frame");
		return;
	}
	bytes->ptr += len;
	bytes->len -= len;
}

/* Copy only the bytes that the incomplete frame lacks; those after it are read in place. */
static void complete_partial(struct connection *c, struct text *bytes)
{
	struct text have = buf_text(&c->partial);
	struct frame frame;
	size_t missing;

	frame_look(have, c->frame_max, &frame);
	missing = (is_protocol_header(c, have) ? PROTOCOL_HEADER_SIZE : frame.size) - have.len;
	keep(c, bytes, missing < bytes->len ? missing : bytes->len);
	have = buf_text(&c->partial);
	if (c->state != CONNECTION_ENDED && take_next(c, &have))
		buf_clear(&c->partial);
}

enum rc connection_input(struct connection *c, struct text bytes)
{
	while (c->state != CONNECTION_ENDED && bytes.len > 0) {
		if (buf_len(&c->partial) > 0)
			complete_partial(c, &bytes);
		else if (!take_next(c, &bytes) && c->state != CONNECTION_ENDED)
			keep(c, &bytes, bytes.len);
	}
	return c->state == CONNECTION_ENDED ? c->end : RC_OK;
}
