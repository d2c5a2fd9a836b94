#include "amqp/connection_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define CODEC_PAGE     4096
#define REPLY_TEXT_MAX 255

uint8_t *connection_content_memory(size_t len, void **ret_owner)
{
	*ret_owner = malloc(len > 0 ? len : 1);
	return *ret_owner;
}

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
	c->appended = PROTOCOL_HEADER_SIZE;
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

void content_drop(struct connection *c, struct channel *ch)
{
	struct content *content = &ch->content;
	bool has_memory = content->stage == CONTENT_WANTS_BODY;

	content->stage = CONTENT_NONE;
	if (has_memory)
		c->handler->content_dropped(c->ctx, content->event.content.owner);
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

bool connection_has_failed(const struct connection *c)
{
	return c->has_failed || c->output.failed;
}

uint8_t *connection_reserve(struct connection *c, size_t len)
{
	uint8_t *at = connection_has_failed(c) ? NULL : buf_reserve(&c->output, len);

	if (at) {
		buf_commit(&c->output, len);
		c->appended += len;
	} else {
		c->has_failed = true;
	}
	return at;
}

void method_send(struct connection *c, uint16_t channel, uint32_t id, void *fields)
{
	uint8_t arguments[AMQP_FRAME_MIN_SIZE - FRAME_OVERHEAD - METHOD_ID_SIZE];
	int len = amqp_encode_method(id, fields, (amqp_bytes_t){sizeof arguments, arguments});
	uint8_t *at;

	if (len < 0) {
		c->has_failed = true;
		return;
	}
	at = connection_reserve(c, FRAME_OVERHEAD + METHOD_ID_SIZE + (size_t)len);
	if (at == NULL)
		return;
	at = frame_begin(at, AMQP_FRAME_METHOD, channel, METHOD_ID_SIZE + (size_t)len);
	at = octets_put32(at, id);
	frame_end(octets_put_text(at, text_of(arguments, (size_t)len)));
}

/* The owner sends from the output without a word, so what it has sent is computed. The count begins
 * again when all bytes before its beginning are sent: it never has an answer that is sent, and the
 * output never has more than two counts. */
bool method_answer(struct connection *c, uint16_t channel, uint32_t id, void *fields)
{
	uint64_t sent = c->appended - buf_len(&c->output);

	if (sent >= c->counted_from) {
		c->counted_from = c->appended;
		c->counted = 0;
	}
	if (c->counted == AMQP_ANSWERS_MAX) {
		connection_fail(c, RC_LIMIT, AMQP_RESOURCE_ERROR,
			"the peer does not read the answers to its requests, %u are unsent",
			c->counted);
		return false;
	}
	c->counted++;
	method_send(c, channel, id, fields);
	return true;
}

static void send_close(struct connection *c, uint16_t code, struct text text)
{
	amqp_connection_close_t close = {
		.reply_code = code,
		.reply_text = method_bytes(text),
		.class_id = (uint16_t)(c->method >> 16),
		.method_id = (uint16_t)c->method,
	};

	method_send(c, 0, AMQP_CONNECTION_CLOSE_METHOD, &close);
}

void connection_fail(struct connection *c, enum rc end, uint16_t code, const char *format, ...)
{
	char text[REPLY_TEXT_MAX + 1];
	struct amqp_event event = {.kind = AMQP_CLOSED, .code = code};
	va_list arguments;

	if (c->state == CONNECTION_ENDED)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	event.text = text_from(text);
	if (c->state != CONNECTION_CLOSING)
		send_close(c, code, event.text);
	connection_end(c, end);
	connection_emit(c, &event);
}

void connection_close(struct connection *c, uint16_t code, const char *text)
{
	struct text reply = text_from(text);

	if (c->state == CONNECTION_CLOSING || c->state == CONNECTION_ENDED)
		return;
	if (reply.len > REPLY_TEXT_MAX)
		reply.len = REPLY_TEXT_MAX;
	c->method = 0;
	send_close(c, code, reply);
	c->state = CONNECTION_CLOSING;
	connection_drop_contents(c);
}

struct buf *connection_output(struct connection *c)
{
	return &c->output;
}

void connection_heartbeat_send(struct connection *c)
{
	uint8_t *at;

	if (c->state != CONNECTION_OPENING && c->state != CONNECTION_OPEN)
		return;
	at = connection_reserve(c, FRAME_OVERHEAD);
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
