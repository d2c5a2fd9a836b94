/* The fake broker's default exchange: which queues a publish or a dead letter goes to. */
#include "amqp/table.h"
#include "sim/broker_internal.h"

#define REPLY_PREFIX "amq.rabbitmq.reply-to."

static int compare(struct text a, struct text b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len ? memcmp(a.ptr, b.ptr, len) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

void route_add(struct route *route, struct text key)
{
	size_t place = 0;

	sim_require(route->count < ROUTE_KEYS_MAX, "more routing keys than the fake broker holds");
	while (place < route->count && compare(route->keys[place], key) < 0)
		place++;
	if (place < route->count && text_is(route->keys[place], key))
		return;
	memmove(route->keys + place + 1, route->keys + place,
		(route->count - place) * sizeof *route->keys);
	route->keys[place] = key;
	route->count++;
}

void route_add_array(struct route *route, struct text members)
{
	struct table_field field;

	while (table_next(&members, false, &field))
		if (field.type == 'S')
			route_add(route, field.value);
}

bool route_add_header(struct route *route, struct text headers, struct text name)
{
	struct table_field field;

	if (!table_find(headers, name, &field))
		return true;
	if (field.type != 'A')
		return false;
	route_add_array(route, field.value);
	return true;
}

bool route_is_reply(struct text key)
{
	return text_starts(key, TEXT(REPLY_PREFIX));
}

bool route_reply(struct broker *broker, struct text token, struct text properties, struct text body)
{
	for (struct link *link = broker->connections.next; link != &broker->connections;
		link = link->next) {
		struct broker_connection *connection =
			CONTAINER_OF(link, struct broker_connection, place);

		for (uint16_t i = 1; i < connection->channel_count; i++) {
			const char *own = connection->channels[i].reply_token;

			if (!own[0] || !text_is(text_from(own), token))
				continue;
			consume_deliver_reply(connection, i, token, properties, body);
			return true;
		}
	}
	return false;
}
