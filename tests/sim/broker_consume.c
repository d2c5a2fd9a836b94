/* The fake broker, consuming side: consumers, deliveries and what is said of them. */
#include "sim/broker_internal.h"

#include <stdio.h>
#include <stdlib.h>

#define REPLY_QUEUE "amq.rabbitmq.reply-to"

static void send(struct broker_connection *connection, uint16_t number, amqp_method_number_t id,
	void *method)
{
	peer_send_method(&connection->out, number, id, method);
}

/* ---------- consumers ---------- */

static const struct consumer_entry *find_among(
	const struct consumer_entry *all, size_t count, struct text tag)
{
	for (size_t i = 0; i < count; i++)
		if (all[i].live && text_is(text_from(all[i].tag), tag))
			return &all[i];
	return NULL;
}

static struct consumer_entry *find_consumer(struct broker_channel *channel, struct text tag)
{
	return (struct consumer_entry *)find_among(
		channel->consumers, channel->consumer_count, tag);
}

static struct consumer_entry *oldest_on(
	struct broker_channel *channel, const struct queue *queue, struct consumer_entry *oldest)
{
	for (size_t i = 0; i < channel->consumer_count; i++) {
		struct consumer_entry *entry = &channel->consumers[i];

		if (entry->live && entry->queue == queue &&
			(!oldest || entry->number < oldest->number))
			oldest = entry;
	}
	return oldest;
}

/* The consumer that has waited longest becomes the active one, if there is none. */
static void activate(struct broker *broker, struct queue *queue)
{
	struct consumer_entry *oldest = NULL;

	if (!queue || !queue->arguments.single_active || queue->active)
		return;
	for (struct link *link = broker->connections.next; link != &broker->connections;
		link = link->next) {
		struct broker_connection *connection =
			CONTAINER_OF(link, struct broker_connection, place);

		for (uint16_t i = 1; i < connection->channel_count; i++)
			oldest = oldest_on(&connection->channels[i], queue, oldest);
	}
	queue->active = oldest ? oldest->number : 0;
}

void consume_activate_next(struct broker *broker, struct queue *queue)
{
	queue->active = 0;
	activate(broker, queue);
}

void consume_end(struct broker *broker, struct consumer_entry *entry)
{
	entry->live = false;
	if (entry->queue && entry->queue->active == entry->number)
		consume_activate_next(broker, entry->queue);
}

/* True: it may get messages now. */
static bool is_served(const struct consumer_entry *entry)
{
	return entry->live && entry->queue &&
	       (!entry->queue->arguments.single_active || entry->queue->active == entry->number);
}

static struct consumer_entry *new_consumer(struct broker *broker, struct broker_channel *channel,
	struct queue *queue, const amqp_basic_consume_t *consume)
{
	struct consumer_entry *entry = NULL;

	for (size_t i = 0; i < channel->consumer_count && !entry; i++)
		if (!channel->consumers[i].live && channel->consumers[i].unacked == 0)
			entry = &channel->consumers[i];
	if (!entry && channel->consumer_count < CONSUMERS_MAX)
		entry = &channel->consumers[channel->consumer_count++];
	sim_require(entry && consume->consumer_tag.len < NAME_MAX_BYTES, "too many consumers");
	*entry = (struct consumer_entry){.live = true,
		.no_ack = consume->no_ack,
		.queue = queue,
		.number = ++broker->next_consumer,
		.prefetch = consume->no_ack ? UINT32_MAX : channel->prefetch};
	memcpy(entry->tag, consume->consumer_tag.bytes, consume->consumer_tag.len);
	activate(broker, queue);
	return entry;
}

/* A waiting consumer of a quorum queue does not count. A cancelled one is one as long as it holds
 * messages; one that comes back by the same name is the same. */
static bool counts(
	const struct consumer_entry *all, size_t all_count, const struct consumer_entry *entry)
{
	bool is_waiting = entry->live && entry->queue->arguments.single_active &&
			  entry->queue->active != entry->number;

	if (is_waiting && entry->queue->arguments.quorum)
		return false;
	if (entry->live || !entry->queue->arguments.quorum || entry->unacked == 0)
		return entry->live;
	return !find_among(all, all_count, text_from(entry->tag));
}

uint32_t consume_count_among(
	const struct consumer_entry *all, size_t all_count, const struct queue *queue)
{
	uint32_t count = 0;

	for (size_t i = 0; i < all_count; i++)
		count += all[i].queue == queue && counts(all, all_count, &all[i]);
	return count;
}

uint32_t consume_count(const struct broker *broker, const struct queue *queue)
{
	uint32_t count = depart_count(broker, queue);

	for (const struct link *link = broker->connections.next; link != &broker->connections;
		link = link->next) {
		const struct broker_connection *connection =
			CONTAINER_OF(link, struct broker_connection, place);

		for (uint16_t i = 1; i < connection->channel_count; i++)
			count += consume_count_among(connection->channels[i].consumers,
				connection->channels[i].consumer_count, queue);
	}
	return count;
}

/* Direct reply-to: the channel itself is the consumer. */
static bool begin_replies(
	struct broker_connection *connection, uint16_t number, const amqp_basic_consume_t *consume)
{
	struct broker_channel *channel = &connection->channels[number];

	if (channel->reply_token[0]) {
		channel_blame(connection, number, 406, AMQP_BASIC_CONSUME_METHOD,
			"PRECONDITION_FAILED - reply consumer already set");
		return false;
	}
	if (!consume->no_ack) {
		channel_blame(connection, number, 406, AMQP_BASIC_CONSUME_METHOD,
			"PRECONDITION_FAILED - reply consumer cannot acknowledge");
		return false;
	}
	snprintf(channel->reply_token, sizeof channel->reply_token, REPLY_QUEUE ".%llu",
		(unsigned long long)++connection->broker->next_token);
	return true;
}

static bool begin(
	struct broker_connection *connection, uint16_t number, const amqp_basic_consume_t *consume)
{
	struct queue *queue = queue_find(connection->broker, peer_text(consume->queue));
	bool replies = text_is(peer_text(consume->queue), TEXT(REPLY_QUEUE));

	if (replies && !begin_replies(connection, number, consume))
		return false;
	if (find_consumer(&connection->channels[number], peer_text(consume->consumer_tag))) {
		sim_require(connection->broker->answers_mistakes, "a consumer tag twice");
		broker_end_connection(
			connection, 530, "NOT_ALLOWED - attempt to reuse consumer tag");
		return false;
	}
	if (!queue && !replies) {
		channel_fail(
			connection, number, 404, AMQP_BASIC_CONSUME_METHOD, "NOT_FOUND - no queue");
		return false;
	}
	new_consumer(connection->broker, &connection->channels[number], queue, consume);
	return true;
}

void consume_on_consume(
	struct broker_connection *connection, uint16_t number, const amqp_basic_consume_t *consume)
{
	amqp_basic_consume_ok_t ok = {.consumer_tag = consume->consumer_tag};

	sim_require(consume->consumer_tag.len > 0, "a consumer without a tag");
	settle_synchronize(connection, number);
	if (begin(connection, number, consume))
		send(connection, number, AMQP_BASIC_CONSUME_OK_METHOD, &ok);
}

/* Return what is on its way to a consumer that is cancelled: inside the broker, its channel gives
 * that back. */
static void return_unseen(struct broker *broker, struct consumer_entry *entry)
{
	uint32_t rest = entry->prefetch - entry->unacked;
	struct link *link, unseen;

	list_init(&unseen);
	while (rest-- > 0 && (link = list_first(&entry->queue->ready))) {
		list_remove(link);
		list_append(&unseen, link);
	}
	while ((link = list_first(&unseen)))
		queue_requeue(broker, CONTAINER_OF(link, struct stored, place), REQUEUE_ASKED);
}

static void cancel_consumer(struct broker *broker, struct consumer_entry *entry)
{
	if (broker->returns_late && entry->queue->arguments.quorum && !entry->no_ack &&
		is_served(entry))
		return_unseen(broker, entry);
	consume_end(broker, entry);
}

void consume_on_cancel(
	struct broker_connection *connection, uint16_t number, const amqp_basic_cancel_t *cancel)
{
	struct broker_channel *channel = &connection->channels[number];
	struct consumer_entry *entry = find_consumer(channel, peer_text(cancel->consumer_tag));
	amqp_basic_cancel_ok_t ok = {.consumer_tag = cancel->consumer_tag};

	if (entry && !entry->queue)
		channel->reply_token[0] = 0;
	if (entry && entry->queue)
		cancel_consumer(connection->broker, entry);
	else if (entry)
		entry->live = false;
	send(connection, number, AMQP_BASIC_CANCEL_OK_METHOD, &ok);
}

void broker_cancel_consumers(struct broker_connection *connection, uint16_t number)
{
	consume_cancel(connection, number, NULL);
}

void consume_cancel(
	struct broker_connection *connection, uint16_t number, const struct queue *queue)
{
	struct broker_channel *channel = &connection->channels[number];

	for (size_t i = 0; i < channel->consumer_count; i++) {
		struct consumer_entry *entry = &channel->consumers[i];
		amqp_basic_cancel_t cancel = {
			.consumer_tag = amqp_cstring_bytes(entry->tag), .nowait = 1};

		if (!entry->live || (queue && entry->queue != queue))
			continue;
		consume_end(connection->broker, entry);
		send(connection, number, AMQP_BASIC_CANCEL_METHOD, &cancel);
		sim_trace("broker: cancels consumer %s on channel %u", entry->tag, number);
	}
}

/* ---------- deliveries ---------- */

static void keep_unacked(struct broker *broker, struct broker_channel *channel,
	struct consumer_entry *entry, struct stored *stored)
{
	stored->is_unseen = false;
	broker->is_changed = true;
	if (entry->no_ack) {
		queue_forget(stored);
		return;
	}
	list_remove(&stored->place);
	list_append(&channel->unacked, &stored->place);
	stored->queue->unacked++;
	stored->is_returned = false;
	stored->tag = channel->next_tag;
	stored->delivered_at = broker->now;
	stored->consumer = entry;
	entry->unacked++;
}

/* Two consumers of a channel would break the order of its queue. */
static void check_alone(const struct broker_channel *channel, const struct consumer_entry *entry)
{
	for (size_t i = 0; i < channel->consumer_count; i++) {
		const struct consumer_entry *other = &channel->consumers[i];

		sim_require(other == entry || other->queue != entry->queue || !other->unacked,
			"consumers %s and %s of a channel get messages of an ordered queue",
			other->tag, entry->tag);
	}
}

static void deliver(struct broker_connection *connection, uint16_t number,
	struct consumer_entry *entry, struct stored *stored)
{
	struct broker_channel *channel = &connection->channels[number];
	const struct broker_watch *watch = connection->broker->watch;
	struct text properties = queue_properties(connection->broker, stored);
	amqp_basic_deliver_t deliver = {
		.consumer_tag = amqp_cstring_bytes(entry->tag),
		.delivery_tag = ++channel->next_tag,
		.redelivered = stored->redelivered,
		.routing_key = peer_bytes(stored_key(stored)),
	};

	if (connection->broker->returns_late)
		check_alone(channel, entry);
	send(connection, number, AMQP_BASIC_DELIVER_METHOD, &deliver);
	peer_send_content(&connection->out, number, properties, stored_body(stored));
	keep_unacked(connection->broker, channel, entry, stored);
	if (!entry->no_ack)
		watch->on_delivered(watch->ctx, stored->instance, stored->tag, connection);
}

/* It takes no number: the next delivery has the same. */
void consume_deliver_reply(struct broker_connection *connection, uint16_t number, struct text token,
	struct text properties, struct text body)
{
	struct broker_channel *channel = &connection->channels[number];
	amqp_basic_deliver_t deliver = {
		.delivery_tag = channel->next_tag + 1, .routing_key = peer_bytes(token)};

	for (size_t i = 0; i < channel->consumer_count; i++)
		if (channel->consumers[i].live && !channel->consumers[i].queue)
			deliver.consumer_tag = amqp_cstring_bytes(channel->consumers[i].tag);
	send(connection, number, AMQP_BASIC_DELIVER_METHOD, &deliver);
	peer_send_content(&connection->out, number, properties, body);
}

static void deliver_some(struct broker_connection *connection, uint16_t number,
	struct consumer_entry *entry, uint32_t max)
{
	struct link *link;

	while (max-- > 0 && entry->unacked < entry->prefetch &&
		(link = list_first(&entry->queue->ready)))
		deliver(connection, number, entry, CONTAINER_OF(link, struct stored, place));
}

void consume_deliver(struct broker_connection *connection, uint16_t number, bool generous)
{
	struct broker_channel *channel = &connection->channels[number];
	struct random *random = connection->broker->random;

	for (size_t i = 0; i < channel->consumer_count; i++) {
		struct consumer_entry *entry = &channel->consumers[i];

		if (is_served(entry) && !list_is_empty(&entry->queue->ready))
			deliver_some(connection, number, entry,
				generous ? UINT32_MAX : random_below(random, 8));
	}
}

void consume_hand_out(struct broker *broker, struct broker_channel *channel)
{
	for (size_t i = 0; i < channel->consumer_count; i++) {
		struct consumer_entry *entry = &channel->consumers[i];
		struct link *link;

		if (!is_served(entry) || !entry->queue->arguments.quorum || entry->no_ack)
			continue;
		while (entry->unacked < entry->prefetch &&
			(link = list_first(&entry->queue->ready))) {
			struct stored *stored = CONTAINER_OF(link, struct stored, place);

			channel->next_tag++;
			keep_unacked(broker, channel, entry, stored);
			stored->is_unseen = true;
		}
	}
}

uint64_t broker_instance_of(
	const struct broker_connection *connection, uint16_t number, uint64_t tag)
{
	const struct broker_channel *channel = &connection->channels[number];

	for (struct link *link = channel->unacked.next; link != &channel->unacked;
		link = link->next)
		if (CONTAINER_OF(link, struct stored, place)->tag == tag)
			return CONTAINER_OF(link, struct stored, place)->instance;
	return 0;
}
