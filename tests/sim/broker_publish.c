/* The fake broker, publishing side: contents, returns and confirms. */
#include "sim/broker_internal.h"

#include <stdlib.h>

/* ---------- publishing ---------- */

void broker_note_publish(struct broker_connection *connection, uint16_t number, uint64_t seq,
	uint64_t instance, const struct copy_facts *facts)
{
	struct noted *noted = calloc(1, sizeof *noted);

	sim_require(noted, "out of memory");
	*noted = (struct noted){.seq = seq, .instance = instance, .facts = *facts};
	list_append(&connection->channels[number].noted, &noted->place);
}

static struct noted take_note(struct broker_channel *channel, uint64_t seq)
{
	struct link *link = list_first(&channel->noted);
	struct noted noted;

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

static enum publish_fate choose_fate(
	struct broker *broker, const struct queue *queue, bool mandatory)
{
	if (random_chance(broker->random, broker->nacks))
		return PUBLISH_REFUSED;
	if (queue)
		return PUBLISH_STORED;
	return mandatory ? PUBLISH_RETURNED : PUBLISH_DROPPED;
}

static void finish_publish(struct broker_connection *connection, uint16_t number)
{
	struct broker_channel *channel = &connection->channels[number];
	struct broker *broker = connection->broker;
	struct text all = buf_text(&channel->content);
	struct text properties = text_of(all.ptr, channel->properties_len);
	struct text body = text_of(all.ptr + properties.len, all.len - properties.len);
	struct queue *queue = queue_find(broker, text_from(channel->routing_key));
	struct owed_confirm *owed = calloc(1, sizeof *owed);
	struct noted noted;

	sim_require(owed && channel->confirms, "a publish outside confirm mode");
	owed->seq = ++channel->published;
	noted = take_note(channel, owed->seq);
	owed->instance = noted.instance;
	owed->fate = choose_fate(broker, queue, channel->mandatory);
	if (owed->fate == PUBLISH_STORED)
		queue_store(broker, queue, &noted.facts, properties, body);
	else if (owed->fate == PUBLISH_RETURNED)
		send_return(connection, number, properties, body);
	list_append(&channel->owed, &owed->place);
	buf_clear(&channel->content);
	channel->in_publish = channel->has_header = false;
}

void publish_on_method(
	struct broker_connection *connection, uint16_t number, const amqp_basic_publish_t *publish)
{
	struct broker_channel *channel = &connection->channels[number];

	sim_require(publish->exchange.len == 0, "only the default exchange is used");
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

/* ---------- confirms ---------- */

static void send_confirm(struct broker_connection *connection, uint16_t number,
	const struct owed_confirm *owed, bool multiple)
{
	amqp_basic_ack_t ack = {.delivery_tag = owed->seq, .multiple = multiple};
	amqp_basic_nack_t nack = {.delivery_tag = owed->seq, .multiple = multiple};

	if (owed->fate != PUBLISH_REFUSED)
		peer_send_method(&connection->out, number, AMQP_BASIC_ACK_METHOD, &ack);
	else
		peer_send_method(&connection->out, number, AMQP_BASIC_NACK_METHOD, &nack);
}

static void pay(struct broker_connection *connection, struct owed_confirm *owed)
{
	const struct broker_watch *watch = connection->broker->watch;

	watch->on_confirm(watch->ctx, owed->instance, owed->fate);
	list_remove(&owed->place);
	free(owed);
}

/* The first so many, as far as all are positive, or none is, by one word with multiple. */
static void confirm_together(struct broker_connection *connection, uint16_t number, uint32_t count)
{
	struct link *owed = &connection->channels[number].owed;
	struct owed_confirm *last = NULL;
	struct link *link = owed->next;

	for (; count > 0 && link != owed; count--, link = link->next) {
		struct owed_confirm *one = CONTAINER_OF(link, struct owed_confirm, place);

		if (last && (one->fate == PUBLISH_REFUSED) != (last->fate == PUBLISH_REFUSED))
			break;
		last = one;
	}
	if (!last)
		return;
	send_confirm(connection, number, last, true);
	while (list_first(owed) != &last->place)
		pay(connection, CONTAINER_OF(list_first(owed), struct owed_confirm, place));
	pay(connection, last);
}

void publish_confirm_some(struct broker_connection *connection, uint16_t number, bool generous)
{
	struct random *random = connection->broker->random;
	struct link *owed = &connection->channels[number].owed;
	struct link *link;

	if (!generous && random_chance(random, 300))
		confirm_together(connection, number, 1 + random_below(random, 6));
	for (link = owed->next; link != owed;) {
		struct owed_confirm *one = CONTAINER_OF(link, struct owed_confirm, place);

		link = link->next;
		if (!generous && !random_chance(random, 250))
			continue;
		send_confirm(connection, number, one, false);
		pay(connection, one);
	}
}
