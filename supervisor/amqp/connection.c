#include "amqp/control.h"
#include "amqp/replies.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define PROTOCOL_HEADER      "AMQP\x00\x00\x09\x01"
#define PROTOCOL_HEADER_SIZE 8
#define CODEC_PAGE           4096
#define REPLY_TEXT_MAX       255

struct connection *connection_new(
	const struct connection_params *params, const struct connection_handler *handler, void *ctx)
{
	struct connection *c = calloc(1, sizeof *c);

	if (c == NULL)
		return NULL;
	c->params = params;
	c->handler = handler;
	c->ctx = ctx;
	c->frame_max = params->frame_max;
	init_amqp_pool(&c->pool, CODEC_PAGE);
	buf_init(&c->output, params->output_limit);
	buf_init(&c->partial, (size_t)params->frame_max + FRAME_HEADER_SLACK);
	buf_append(&c->output, PROTOCOL_HEADER, PROTOCOL_HEADER_SIZE);
	if (c->output.failed) {
		connection_free(c);
		return NULL;
	}
	return c;
}

void connection_free(struct connection *c)
{
	if (c == NULL)
		return;
	connection_drop_contents(c);
	for (size_t i = 0; i < c->channel_slots; i++)
		free(c->channels[i]);
	free(c->channels);
	empty_amqp_pool(&c->pool);
	buf_release(&c->partial);
	buf_release(&c->output);
	free(c);
}

void connection_drop_contents(struct connection *c)
{
	for (size_t i = 0; i < c->channel_slots; i++) {
		if (c->channels[i])
			content_drop(c, c->channels[i]);
	}
}

void connection_end(struct connection *c, enum rc end)
{
	c->state = CONNECTION_ENDED;
	c->end = end;
	connection_drop_contents(c);
}

static void send_close(struct connection *c, uint16_t code, struct text words)
{
	amqp_connection_close_t close = {
		.reply_code = code,
		.reply_text = method_bytes(words),
		.class_id = (uint16_t)(c->method >> 16),
		.method_id = (uint16_t)c->method,
	};

	method_send(c, 0, AMQP_CONNECTION_CLOSE_METHOD, &close);
}

void connection_fail(struct connection *c, enum rc end, uint16_t code, const char *format, ...)
{
	char words[REPLY_TEXT_MAX + 1];
	struct amqp_event event = {.kind = AMQP_CLOSED, .code = code};
	va_list arguments;

	if (c->state == CONNECTION_ENDED)
		return;
	va_start(arguments, format);
	vsnprintf(words, sizeof words, format, arguments);
	va_end(arguments);
	event.text = text_from(words);
	if (c->state != CONNECTION_CLOSING)
		send_close(c, code, event.text);
	connection_end(c, end);
	connection_tell(c, &event);
}

void connection_close(struct connection *c, uint16_t code, const char *text)
{
	struct text words = text_from(text);

	if (c->state == CONNECTION_CLOSING || c->state == CONNECTION_ENDED)
		return;
	if (words.len > REPLY_TEXT_MAX)
		words.len = REPLY_TEXT_MAX;
	c->method = 0;
	send_close(c, code, words);
	c->state = CONNECTION_CLOSING;
	connection_drop_contents(c);
}

static void take_heartbeat(struct connection *c, const struct frame *frame)
{
	if (frame->channel != 0 || frame->payload.len != 0)
		connection_fail(c, RC_MALFORMED, AMQP_FRAME_ERROR, "malformed heartbeat");
	else if (c->state < CONNECTION_OPENING)
		connection_fail(c, RC_MALFORMED, AMQP_UNEXPECTED_FRAME,
			"heartbeat before its interval was agreed on");
}

static void take_control_frame(struct connection *c, const struct frame *frame)
{
	if (frame->type == AMQP_FRAME_METHOD)
		control_take_method(c, frame->payload);
	else if (c->state != CONNECTION_CLOSING)
		connection_fail(c, RC_MALFORMED, AMQP_UNEXPECTED_FRAME, "content on channel 0");
}

static void take_channel_frame(struct connection *c, const struct frame *frame)
{
	struct channel *ch = connection_channel(c, frame->channel);

	if (c->state == CONNECTION_CLOSING)
		return;
	if (c->state != CONNECTION_OPEN)
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

static void take_frame(struct connection *c, const struct frame *frame)
{
	if (frame->type == AMQP_FRAME_HEARTBEAT)
		take_heartbeat(c, frame);
	else if (frame->channel == 0)
		take_control_frame(c, frame);
	else
		take_channel_frame(c, frame);
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
	/* There is no connection to close: this peer would not understand it. */
	struct amqp_event event = {.kind = AMQP_CLOSED, .code = AMQP_NOT_IMPLEMENTED};
	char words[REPLY_TEXT_MAX + 1];

	snprintf(words, sizeof words, "the peer speaks AMQP %u-%u-%u-%u, not 0-9-1", version[0],
		version[1], version[2], version[3]);
	event.text = text_from(words);
	connection_end(c, RC_CLOSED);
	connection_tell(c, &event);
	return true;
}

/* Takes one frame off bytes; false when none is whole, or the connection ended over it. */
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

static size_t bytes_wanted(const struct connection *c, struct text have)
{
	struct frame frame;

	if (is_protocol_header(c, have))
		return PROTOCOL_HEADER_SIZE;
	frame_look(have, c->frame_max, &frame);
	return frame.size;
}

/* Moves len bytes behind the incomplete frame. */
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

/* Only what the incomplete frame lacks is copied; what follows it is read where it lies. */
static void complete_partial(struct connection *c, struct text *bytes)
{
	struct text have = buf_text(&c->partial);
	size_t missing = bytes_wanted(c, have) - have.len;

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

struct buf *connection_output(struct connection *c)
{
	return &c->output;
}

uint8_t *connection_room(struct connection *c, size_t len)
{
	uint8_t *room = connection_has_failed(c) ? NULL : buf_room(&c->output, len);

	if (room)
		buf_added(&c->output, len);
	else
		c->has_failed = true;
	return room;
}

bool connection_has_failed(const struct connection *c)
{
	return c->has_failed || c->output.failed;
}

void connection_heartbeat_send(struct connection *c)
{
	uint8_t *at;

	if (c->state != CONNECTION_OPENING && c->state != CONNECTION_OPEN)
		return;
	at = connection_room(c, FRAME_OVERHEAD);
	if (at)
		frame_end(frame_begin(at, AMQP_FRAME_HEARTBEAT, 0, 0));
}

bool connection_is_open(const struct connection *c)
{
	return c->state == CONNECTION_OPEN;
}

uint16_t connection_heartbeat(const struct connection *c)
{
	return c->heartbeat_s;
}

uint32_t connection_frame_max(const struct connection *c)
{
	return c->frame_max;
}

uint16_t connection_channel_max(const struct connection *c)
{
	return c->channel_max;
}

struct text connection_peer_product(const struct connection *c)
{
	return text_of(c->product.bytes, c->product.len);
}

struct text connection_peer_version(const struct connection *c)
{
	return text_of(c->version.bytes, c->version.len);
}
