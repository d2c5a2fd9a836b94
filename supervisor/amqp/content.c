#include "amqp/connection_internal.h"
#include "amqp/cursor.h"
#include "amqp/properties.h"

#define CLASS_BASIC 60

static void syntax_error(struct connection *c, const char *where)
{
	connection_fail(c, RC_MALFORMED, AMQP_SYNTAX_ERROR, "%s does not fit its layout", where);
}

/* A channel that only publishes expects no delivery and has no memory for it; a channel that only
 * consumes expects no return. */
static void unexpected_error(struct connection *c, const struct channel *ch, const char *what)
{
	connection_fail(c, RC_MALFORMED, AMQP_COMMAND_INVALID,
		"%s on channel %u, which never asked for any", what, ch->number);
}

/* The method's texts must outlive its frame: header and body come in others. False: too long for
 * any valid arguments. */
static bool content_begin(struct channel *ch, enum amqp_event_kind kind, struct text arguments,
	struct cursor *ret_cursor)
{
	struct content *content = &ch->content;

	if (arguments.len > sizeof content->arguments)
		return false;
	octets_put_text((uint8_t *)content->arguments, arguments);
	content->event = (struct amqp_event){.kind = kind, .channel = ch->number};
	*ret_cursor = cursor_of(text_of(content->arguments, arguments.len));
	return true;
}

void content_begin_delivery(struct connection *c, struct channel *ch, struct text arguments)
{
	struct amqp_event *event = &ch->content.event;
	struct cursor cursor;

	if (!ch->consumes) {
		unexpected_error(c, ch, "basic.deliver");
		return;
	}
	if (!content_begin(ch, AMQP_DELIVERY, arguments, &cursor)) {
		syntax_error(c, "basic.deliver");
		return;
	}
	event->consumer = cursor_take_short(&cursor);
	event->tag = cursor_take64(&cursor);
	event->redelivered = cursor_take8(&cursor) & 1;
	event->exchange = cursor_take_short(&cursor);
	event->routing_key = cursor_take_short(&cursor);
	if (!cursor_is_done(&cursor) || event->tag == 0) {
		syntax_error(c, "basic.deliver");
		return;
	}
	ch->content.stage = CONTENT_WANTS_HEADER;
}

void content_begin_return(struct connection *c, struct channel *ch, struct text arguments)
{
	struct amqp_event *event = &ch->content.event;
	struct cursor cursor;

	if (!ch->publishes) {
		unexpected_error(c, ch, "basic.return");
		return;
	}
	if (!content_begin(ch, AMQP_RETURN, arguments, &cursor)) {
		syntax_error(c, "basic.return");
		return;
	}
	event->code = cursor_take16(&cursor);
	event->text = cursor_take_short(&cursor);
	event->exchange = cursor_take_short(&cursor);
	event->routing_key = cursor_take_short(&cursor);
	if (!cursor_is_done(&cursor)) {
		syntax_error(c, "basic.return");
		return;
	}
	ch->content.stage = CONTENT_WANTS_HEADER;
}

/* Append bytes; emit the event when the content is whole. It is off the channel by then, because
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

/* Allocate what the header announces. */
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
