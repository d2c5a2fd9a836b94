#include "amqp/connection_internal.h"
#include "amqp/cursor.h"
#include "amqp/properties.h"

#define CLASS_BASIC 60

static void syntax_error(struct connection *c, const char *where)
{
	connection_fail(c, RC_MALFORMED, AMQP_SYNTAX_ERROR, "%s does not fit its layout", where);
}

/* The method's arguments are copied, because the texts of the event must outlive its frame: header
 * and body come in other frames. A channel that only publishes has no memory for a delivery, and
 * one that only consumes expects no return. */
void content_begin(struct connection *c, struct channel *ch, struct text arguments)
{
	bool is_delivery = c->method == AMQP_BASIC_DELIVER_METHOD;
	const char *what = is_delivery ? "basic.deliver" : "basic.return";
	struct content *content = &ch->content;
	struct amqp_event *event = &content->event;
	struct cursor cursor = cursor_of(text_of(content->arguments, arguments.len));

	if (is_delivery ? !ch->consumes : !ch->publishes) {
		connection_fail(c, RC_MALFORMED, AMQP_COMMAND_INVALID,
			"%s on channel %u, which never asked for any", what, ch->number);
		return;
	}
	if (arguments.len > sizeof content->arguments) {
		syntax_error(c, what);
		return;
	}
	octets_put_text((uint8_t *)content->arguments, arguments);
	*event = (struct amqp_event){
		.kind = is_delivery ? AMQP_DELIVERY : AMQP_RETURN, .channel = ch->number};
	if (is_delivery) {
		event->consumer = cursor_take_short(&cursor);
		event->tag = cursor_take64(&cursor);
		event->redelivered = cursor_take8(&cursor) & 1;
	} else {
		event->code = cursor_take16(&cursor);
		event->text = cursor_take_short(&cursor);
	}
	event->exchange = cursor_take_short(&cursor);
	event->routing_key = cursor_take_short(&cursor);
	if (!cursor_is_done(&cursor) || (is_delivery && event->tag == 0))
		syntax_error(c, what);
	else
		content->stage = CONTENT_WANTS_HEADER;
}

/* Append bytes, and emit the event when the content is complete. The stage is reset before, because
 * the handler may close the channel. */
static void content_fill(struct connection *c, struct channel *ch, struct text bytes)
{
	struct content *content = &ch->content;
	size_t body_len = content->total - content->properties_len;

	octets_put_text(content->memory + content->filled, bytes);
	content->filled += bytes.len;
	if (content->filled < content->total)
		return;
	content->event.content.properties = text_of(content->memory, content->properties_len);
	content->event.content.body = text_of(content->memory + content->properties_len, body_len);
	content->stage = CONTENT_NONE;
	connection_emit(c, &content->event);
}

/* Allocate the memory for properties and body. False: the connection has failed. */
static bool content_allocate(
	struct connection *c, struct channel *ch, size_t properties_len, uint64_t body_len)
{
	struct content *content = &ch->content;
	void *owner = NULL;

	if (body_len > c->params->body_limit || body_len > SIZE_MAX - properties_len) {
		connection_fail(c, RC_LIMIT, AMQP_RESOURCE_ERROR,
			"content body of %llu bytes, at most %llu are taken",
			(unsigned long long)body_len, (unsigned long long)c->params->body_limit);
		return false;
	}
	content->total = properties_len + (size_t)body_len;
	content->memory = c->handler->content_memory(
		c->ctx, ch->number, content->event.kind == AMQP_RETURN, content->total, &owner);
	if (content->memory == NULL) {
		connection_fail(c, RC_MEMORY, AMQP_RESOURCE_ERROR,
			"no memory for a content of %zu bytes", content->total);
		return false;
	}
	content->event.content.owner = owner;
	content->properties_len = properties_len;
	content->filled = 0;
	content->stage = CONTENT_WANTS_BODY;
	return true;
}

void content_take_header(struct connection *c, struct channel *ch, struct text payload)
{
	struct cursor cursor = cursor_of(payload);
	uint16_t class_id = cursor_take16(&cursor);
	uint16_t weight = cursor_take16(&cursor);
	uint64_t body_len = cursor_take64(&cursor);
	struct properties properties;

	if (ch->content.stage != CONTENT_WANTS_HEADER) {
		connection_fail(c, RC_MALFORMED, AMQP_UNEXPECTED_FRAME,
			"content header where none was announced");
		return;
	}
	if (!cursor.is_short && class_id != CLASS_BASIC) {
		connection_fail(c, RC_MALFORMED, AMQP_FRAME_ERROR,
			"content header of class %u after a method of class %u", class_id,
			CLASS_BASIC);
		return;
	}
	if (weight != 0 || properties_parse(cursor.rest, &properties) != RC_OK) {
		syntax_error(c, "content header");
		return;
	}
	if (content_allocate(c, ch, cursor.rest.len, body_len))
		content_fill(c, ch, cursor.rest);
}

void content_take_body(struct connection *c, struct channel *ch, struct text payload)
{
	struct content *content = &ch->content;

	if (content->stage != CONTENT_WANTS_BODY) {
		connection_fail(c, RC_MALFORMED, AMQP_UNEXPECTED_FRAME,
			"content body where none was announced");
		return;
	}
	if (payload.len > content->total - content->filled) {
		connection_fail(c, RC_MALFORMED, AMQP_FRAME_ERROR,
			"content body longer than its header announced");
		return;
	}
	content_fill(c, ch, payload);
}
