#include "broker/intake.h"

#include "message/task.h"

#define SHORT_STRING_MAX 255

uint8_t *intake_memory(size_t len, bool keep_route, void **ret_owner)
{
	struct delivery *delivery = delivery_new(len + (keep_route ? 2 * SHORT_STRING_MAX : 0));

	if (!delivery)
		return NULL;
	*ret_owner = delivery;
	return delivery->bytes;
}

static struct text copy_text(uint8_t *where, struct text text)
{
	if (text.len)
		memcpy(where, text.ptr, text.len);
	return text_of(where, text.len);
}

struct delivery *intake_take(const struct amqp_event *event, bool keep_route, uint64_t body_limit)
{
	struct delivery *delivery = event->content.owner;

	delivery->tag = event->tag;
	delivery->redelivered = event->redelivered;
	delivery->properties = event->content.properties;
	delivery->body = event->content.body;
	if (keep_route) {
		uint8_t *end = delivery->bytes + delivery->properties.len + delivery->body.len;

		delivery->exchange = copy_text(end, event->exchange);
		delivery->routing_key = copy_text(end + event->exchange.len, event->routing_key);
	}
	task_read_facts(delivery, body_limit);
	return delivery;
}
