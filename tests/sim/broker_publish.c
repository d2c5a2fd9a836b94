/* The fake broker, publishing side: contents, routes and returns. */
#include "amqp/properties.h"
#include "amqp/table.h"
#include "sim/broker_internal.h"

#include <stdlib.h>

/* ---------- publishing ---------- */

void broker_note_publish(struct broker_connection *connection, uint16_t number, uint64_t seq,
	uint64_t instance, const struct copy_facts *facts)
{
	struct noted *noted = malloc(sizeof *noted);

	sim_require(noted, "out of memory");
	*noted = (struct noted){.seq = seq, .instance = instance, .facts = *facts};
	list_append(&connection->channels[number].noted, &noted->place);
}

static struct noted take_note(
	const struct broker *broker, struct broker_channel *channel, uint64_t seq)
{
	bool is_announced =
		!broker->unannounced || strcmp(channel->routing_key, broker->unannounced) != 0;
	struct link *link = list_first(&channel->noted);
	struct noted noted;

	if (!is_announced || (!link && broker->answers_mistakes))
		return (struct noted){.seq = seq};
	sim_require(link, "a publish that no parcel announced");
	noted = *CONTAINER_OF(link, struct noted, place);
	sim_require(noted.seq == seq, "publish %llu carries the number of another parcel",
		(unsigned long long)seq);
	list_remove(link);
	free(CONTAINER_OF(link, struct noted, place));
	return noted;
}

static void send_return(struct broker_connection *connection, uint16_t number,
	struct text properties, struct text body)
{
	amqp_basic_return_t method = {
		.reply_code = 312,
		.reply_text = amqp_cstring_bytes("NO_ROUTE"),
		.routing_key = amqp_cstring_bytes(connection->channels[number].routing_key),
	};

	peer_send_method(&connection->out, number, AMQP_BASIC_RETURN_METHOD, &method);
	peer_send_content(&connection->out, number, properties, body);
}

/* The parts of a publish. */
struct publication {
	struct incoming incoming;
	struct properties properties;
	struct route route;
	bool has_copies; /* a header CC or BCC */
};

static bool has_copies(struct text headers)
{
	struct table_field field;

	while (table_next(&headers, true, &field))
		if (text_is(field.key, TEXT("CC")) || text_is(field.key, TEXT("BCC")))
			return true;
	return false;
}

/* What RabbitMQ refuses with 406, or NULL. */
static const char *find_mistake(const struct broker_channel *channel, struct publication *p)
{
	struct text headers = p->properties.value[PROPERTY_HEADERS];
	struct text user = p->properties.value[PROPERTY_USER_ID];
	struct text expiration = p->properties.value[PROPERTY_EXPIRATION];

	if (properties_has(&p->properties, PROPERTY_USER_ID) && !text_is(user, TEXT("guest")))
		return "PRECONDITION_FAILED - user_id property set to another user";
	for (size_t i = 0; i < expiration.len; i++)
		if (expiration.ptr[i] < '0' || expiration.ptr[i] > '9')
			return "PRECONDITION_FAILED - invalid expiration";
	if (text_is(p->properties.value[PROPERTY_REPLY_TO], TEXT("amq.rabbitmq.reply-to")) &&
		!channel->reply_token[0])
		return "PRECONDITION_FAILED - fast reply consumer does not exist";
	if (p->has_copies && (!route_add_header(&p->route, headers, TEXT("CC")) ||
				     !route_add_header(&p->route, headers, TEXT("BCC"))))
		return "PRECONDITION_FAILED - unacceptable type in header";
	return NULL;
}

/* Remove the header BCC; replace direct reply-to by the channel's own address. */
static void rewrite(
	struct broker *broker, const struct broker_channel *channel, struct publication *p)
{
	struct buf *headers = scratch_take(&broker->scratch, SCRATCH_HEADERS);
	struct buf *written = scratch_take(&broker->scratch, SCRATCH_PROPERTIES);
	struct text rest = p->properties.value[PROPERTY_HEADERS];
	struct table_field field;

	while (table_next(&rest, true, &field))
		if (!text_is(field.key, TEXT("BCC")))
			table_put_field(headers, &field);
		else
			p->incoming.bcc = field.value;
	if (properties_has(&p->properties, PROPERTY_HEADERS))
		properties_set(&p->properties, PROPERTY_HEADERS, buf_text(headers));
	if (text_is(p->properties.value[PROPERTY_REPLY_TO], TEXT("amq.rabbitmq.reply-to")))
		properties_set(&p->properties, PROPERTY_REPLY_TO, text_from(channel->reply_token));
	properties_write(&p->properties, written);
	p->incoming.properties = buf_text(written);
}

static bool needs_rewriting(const struct publication *p)
{
	struct text headers = p->properties.value[PROPERTY_HEADERS];
	struct table_field field;

	return (p->has_copies && table_find(headers, TEXT("BCC"), &field)) ||
	       text_is(p->properties.value[PROPERTY_REPLY_TO], TEXT("amq.rabbitmq.reply-to"));
}

/* Return the number of queues that got it. An answer to direct reply-to is delivered, but is in no
 * queue. */
static size_t store(struct broker *broker, const struct publication *p)
{
	size_t count = 0;

	for (size_t i = 0; i < p->route.count; i++) {
		struct queue *queue = queue_find(broker, p->route.keys[i]);

		if (route_is_reply(p->route.keys[i]))
			(void)route_reply(
				broker, p->route.keys[i], p->incoming.properties, p->incoming.body);
		else if (queue)
			queue_store(broker, queue, &p->incoming);
		count += queue != NULL;
	}
	return count;
}

static void owe_confirm(struct broker_channel *channel, uint64_t instance, enum publish_fate fate)
{
	struct owed_confirm *owed;

	if (!channel->confirms)
		return;
	owed = malloc(sizeof *owed);
	sim_require(owed, "out of memory");
	*owed = (struct owed_confirm){
		.seq = channel->published, .instance = instance, .fate = fate};
	list_append(&channel->owed, &owed->place);
}

static void carry_out(struct broker_connection *connection, uint16_t number, struct publication *p)
{
	struct broker_channel *channel = &connection->channels[number];
	struct broker *broker = connection->broker;
	enum publish_fate fate = PUBLISH_STORED;
	struct noted noted;

	sim_require(
		broker->answers_mistakes || channel->confirms, "a publish outside confirm mode");
	channel->published += channel->confirms;
	noted = take_note(broker, channel, channel->published);
	p->incoming.facts = noted.facts;
	if (needs_rewriting(p))
		rewrite(broker, channel, p);
	if (random_chance(broker->random, broker->nacks)) {
		fate = PUBLISH_REFUSED;
	} else if (store(broker, p) == 0) {
		fate = channel->mandatory ? PUBLISH_RETURNED : PUBLISH_DROPPED;
		if (channel->mandatory)
			send_return(connection, number, p->incoming.properties, p->incoming.body);
	}
	owe_confirm(channel, noted.instance, fate);
}

static void finish_publish(struct broker_connection *connection, uint16_t number)
{
	struct broker_channel *channel = &connection->channels[number];
	struct text all = buf_text(&channel->content);
	struct publication p = {
		.incoming.key = text_from(channel->routing_key),
		.incoming.properties = text_of(all.ptr, channel->properties_len),
		.incoming.body = text_of(
			all.ptr + channel->properties_len, all.len - channel->properties_len),
	};
	const char *mistake;

	sim_require(properties_parse(p.incoming.properties, &p.properties) == RC_OK,
		"published properties");
	p.has_copies = has_copies(p.properties.value[PROPERTY_HEADERS]);
	route_add(&p.route, p.incoming.key);
	mistake = find_mistake(channel, &p);
	if (channel->to_nowhere)
		channel_blame(connection, number, 404, AMQP_BASIC_PUBLISH_METHOD,
			"NOT_FOUND - no exchange");
	else if (mistake)
		channel_blame(connection, number, 406, AMQP_BASIC_PUBLISH_METHOD, mistake);
	else
		carry_out(connection, number, &p);
	buf_clear(&channel->content);
	channel->in_publish = channel->has_header = false;
}

void publish_on_method(
	struct broker_connection *connection, uint16_t number, const amqp_basic_publish_t *publish)
{
	struct broker_channel *channel = &connection->channels[number];

	channel->to_nowhere = publish->exchange.len > 0;
	sim_require(publish->routing_key.len < sizeof channel->routing_key, "a long routing key");
	memcpy(channel->routing_key, publish->routing_key.bytes, publish->routing_key.len);
	channel->routing_key[publish->routing_key.len] = 0;
	channel->mandatory = publish->mandatory;
	channel->in_publish = true;
	connection_has_published(connection);
	if (strcmp(channel->routing_key, BROKER_COSTS_CHANNEL) == 0)
		broker_close_channel(connection, number, 406);
	else if (strcmp(channel->routing_key, BROKER_COSTS_CONNECTION) == 0)
		broker_close_connection(connection, 541);
}

static uint64_t be64(const char *bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | (uint8_t)bytes[i];
	return value;
}

void publish_on_content(struct broker_connection *connection, const struct peer_frame *frame)
{
	struct broker_channel *channel = &connection->channels[frame->channel];

	if (channel->state != CHANNEL_OPEN)
		return;
	sim_require(channel->in_publish, "content without a publish");
	if (frame->type == AMQP_FRAME_HEADER) {
		sim_require(!channel->has_header && frame->payload.len >= 14, "a content header");
		channel->has_header = true;
		channel->body_size = be64(frame->payload.ptr + 4);
		channel->properties_len = frame->payload.len - 12;
		buf_append(&channel->content, frame->payload.ptr + 12, channel->properties_len);
	} else {
		sim_require(channel->has_header, "a body without its header");
		buf_append_text(&channel->content, frame->payload);
	}
	sim_require(!channel->content.failed, "a content too large for the fake broker");
	if (buf_len(&channel->content) - channel->properties_len >= channel->body_size)
		finish_publish(connection, frame->channel);
}
