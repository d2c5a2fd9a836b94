#include "sim/broker_internal.h"

#include <stdlib.h>

static struct text name_of(amqp_bytes_t bytes)
{
	return peer_text(bytes);
}

static void send(struct broker_connection *connection, uint16_t number, amqp_method_number_t id,
	void *method)
{
	peer_send_method(&connection->out, number, id, method);
}

/* ---------- open and close ---------- */

static void free_list(struct link *list, size_t offset)
{
	struct link *link;

	while ((link = list_first(list))) {
		list_remove(link);
		free((char *)link - offset);
	}
}

static void requeue_all(struct broker_connection *connection, struct broker_channel *channel)
{
	const struct broker_watch *watch = connection->broker->watch;
	struct link *link;

	while ((link = list_first(&channel->unacked))) {
		struct stored *stored = CONTAINER_OF(link, struct stored, place);

		if (!stored->queue->deleted)
			watch->on_settled(watch->ctx, stored->instance, false, true);
		queue_requeue(connection->broker, stored);
	}
}

void channel_reset(struct broker_connection *connection, uint16_t number)
{
	struct broker_channel *channel = &connection->channels[number];

	requeue_all(connection, channel);
	free_list(&channel->owed, offsetof(struct owed_confirm, place));
	free_list(&channel->noted, offsetof(struct noted, place));
	buf_release(&channel->content);
	memset(channel->consumers, 0, channel->consumer_count * sizeof *channel->consumers);
	memset(channel, 0, offsetof(struct broker_channel, consumers));
	list_init(&channel->unacked);
	list_init(&channel->owed);
	list_init(&channel->noted);
	buf_init(&channel->content, CONTENT_MAX);
}

void channel_fail(
	struct broker_connection *connection, uint16_t number, uint16_t code, const char *words)
{
	amqp_channel_close_t close = {.reply_code = code, .reply_text = amqp_cstring_bytes(words)};

	channel_reset(connection, number);
	connection->channels[number].state = CHANNEL_CLOSING;
	send(connection, number, AMQP_CHANNEL_CLOSE_METHOD, &close);
	sim_trace("broker: closes channel %u (%u %s)", number, code, words);
}

/* ---------- consuming ---------- */

static struct consumer_entry *find_consumer(struct broker_channel *channel, struct text tag)
{
	for (size_t i = 0; i < channel->consumer_count; i++)
		if (channel->consumers[i].live &&
			text_is(text_from(channel->consumers[i].tag), tag))
			return &channel->consumers[i];
	return NULL;
}

static void on_consume(
	struct broker_connection *connection, uint16_t number, const amqp_basic_consume_t *consume)
{
	struct broker_channel *channel = &connection->channels[number];
	struct queue *queue = queue_find(connection->broker, name_of(consume->queue));
	amqp_basic_consume_ok_t ok = {.consumer_tag = consume->consumer_tag};
	struct consumer_entry *entry = NULL;

	if (!queue) {
		channel_fail(connection, number, 404, "NOT_FOUND - no queue");
		return;
	}
	sim_require(
		!find_consumer(channel, name_of(consume->consumer_tag)), "a consumer tag twice");
	for (size_t i = 0; i < channel->consumer_count && !entry; i++)
		if (!channel->consumers[i].live && channel->consumers[i].unacked == 0)
			entry = &channel->consumers[i];
	if (!entry && channel->consumer_count < CONSUMERS_MAX)
		entry = &channel->consumers[channel->consumer_count++];
	sim_require(entry && consume->consumer_tag.len < NAME_MAX_BYTES, "too many consumers");
	*entry = (struct consumer_entry){
		.live = true, .queue = queue, .prefetch = channel->prefetch};
	memcpy(entry->tag, consume->consumer_tag.bytes, consume->consumer_tag.len);
	send(connection, number, AMQP_BASIC_CONSUME_OK_METHOD, &ok);
}

static void on_cancel(
	struct broker_connection *connection, uint16_t number, const amqp_basic_cancel_t *cancel)
{
	struct consumer_entry *entry =
		find_consumer(&connection->channels[number], name_of(cancel->consumer_tag));
	amqp_basic_cancel_ok_t ok = {.consumer_tag = cancel->consumer_tag};

	if (entry)
		entry->live = false;
	send(connection, number, AMQP_BASIC_CANCEL_OK_METHOD, &ok);
}

static void deliver(struct broker_connection *connection, uint16_t number,
	struct consumer_entry *entry, struct stored *stored)
{
	struct broker_channel *channel = &connection->channels[number];
	struct buf properties;
	amqp_basic_deliver_t deliver = {
		.consumer_tag = amqp_cstring_bytes(entry->tag),
		.delivery_tag = ++channel->next_tag,
		.redelivered = stored->redelivered,
		.routing_key = amqp_cstring_bytes(stored->queue->name),
	};

	list_remove(&stored->place);
	list_append(&channel->unacked, &stored->place);
	stored->queue->unacked++;
	stored->tag = channel->next_tag;
	stored->delivered_at = connection->broker->now;
	stored->consumer = entry;
	entry->unacked++;
	send(connection, number, AMQP_BASIC_DELIVER_METHOD, &deliver);
	buf_init(&properties, CONTENT_MAX);
	queue_append_properties(stored, &properties);
	peer_send_content(&connection->out, number, buf_text(&properties),
		text_of(stored->bytes + stored->properties_len, stored->body_len));
	buf_release(&properties);
}

static void deliver_some(struct broker_connection *connection, uint16_t number, bool generous)
{
	struct broker_channel *channel = &connection->channels[number];
	struct random *random = connection->broker->random;

	for (size_t i = 0; i < channel->consumer_count; i++) {
		struct consumer_entry *entry = &channel->consumers[i];
		uint32_t most = generous ? UINT32_MAX : random_below(random, 8);

		while (entry->live && most-- > 0 && entry->unacked < entry->prefetch) {
			struct link *link = list_first(&entry->queue->ready);

			if (!link)
				break;
			deliver(connection, number, entry,
				CONTAINER_OF(link, struct stored, place));
		}
	}
}

void broker_cancel_consumers(struct broker_connection *connection, uint16_t number)
{
	channel_cancel_consumers(connection, number, NULL);
}

void channel_cancel_consumers(
	struct broker_connection *connection, uint16_t number, const struct queue *queue)
{
	struct broker_channel *channel = &connection->channels[number];

	for (size_t i = 0; i < channel->consumer_count; i++) {
		struct consumer_entry *entry = &channel->consumers[i];
		amqp_basic_cancel_t cancel = {
			.consumer_tag = amqp_cstring_bytes(entry->tag), .nowait = 1};

		if (!entry->live || (queue && entry->queue != queue))
			continue;
		entry->live = false;
		send(connection, number, AMQP_BASIC_CANCEL_METHOD, &cancel);
		sim_trace("broker: cancels consumer %s on channel %u", entry->tag, number);
	}
}

/* ---------- settling ---------- */

static void settle(
	struct broker_connection *connection, struct stored *stored, bool ack, bool requeue)
{
	const struct broker_watch *watch = connection->broker->watch;
	uint64_t instance = stored->instance;

	bool is_gone = requeue && stored->queue->deleted;

	stored->consumer->unacked--;
	if (requeue)
		queue_requeue(connection->broker, stored);
	else
		queue_forget(stored);
	if (!is_gone)
		watch->on_settled(watch->ctx, instance, ack, requeue);
}

/* An unknown tag would be a 406 and cost the channel: here it ends the run. */
static void on_settle(struct broker_connection *connection, uint16_t number, uint64_t tag,
	bool multiple, bool ack, bool requeue)
{
	struct broker_channel *channel = &connection->channels[number];
	struct link *link = channel->unacked.next;
	bool found = false;

	sim_require(tag > 0, "a settlement of tag 0");
	while (link != &channel->unacked) {
		struct stored *stored = CONTAINER_OF(link, struct stored, place);

		link = link->next;
		if (stored->tag != tag && !(multiple && stored->tag < tag))
			continue;
		found = found || stored->tag == tag;
		settle(connection, stored, ack, requeue);
	}
	sim_require(
		found, "unknown delivery tag %llu on channel %u", (unsigned long long)tag, number);
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

void channel_work(struct broker_connection *connection, uint16_t number, bool generous)
{
	if (connection->channels[number].state != CHANNEL_OPEN)
		return;
	publish_confirm_some(connection, number, generous);
	deliver_some(connection, number, generous);
}

/* ---------- methods ---------- */

static void on_declare(
	struct broker_connection *connection, uint16_t number, const amqp_queue_declare_t *declare)
{
	struct queue *queue = queue_find(connection->broker, name_of(declare->queue));
	amqp_queue_declare_ok_t ok = {.queue = declare->queue};
	char name[NAME_MAX_BYTES] = {0};
	bool is_new = !queue;

	if (!queue && declare->passive) {
		channel_fail(connection, number, 404, "NOT_FOUND - no queue");
		return;
	}
	if (!queue) {
		sim_require(declare->queue.len < sizeof name, "a long queue name");
		memcpy(name, declare->queue.bytes, declare->queue.len);
		broker_declare(connection->broker, name, true);
		queue = queue_find(connection->broker, name_of(declare->queue));
	}
	if (!declare->passive)
		expire_declare(queue, is_new, &declare->arguments);
	send(connection, number, AMQP_QUEUE_DECLARE_OK_METHOD, &ok);
}

static void on_open(struct broker_connection *connection, uint16_t number)
{
	amqp_channel_open_ok_t ok = {0};

	sim_require(connection->channels[number].state == CHANNEL_SHUT, "a channel opened twice");
	channel_reset(connection, number);
	connection->channels[number].state = CHANNEL_OPEN;
	send(connection, number, AMQP_CHANNEL_OPEN_OK_METHOD, &ok);
}

static void on_close(struct broker_connection *connection, uint16_t number)
{
	amqp_channel_close_ok_t ok = {0};

	channel_reset(connection, number);
	send(connection, number, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
}

static void on_open_method(struct broker_connection *connection, uint16_t number,
	amqp_method_number_t id, void *method)
{
	struct broker_channel *channel = &connection->channels[number];
	amqp_basic_qos_ok_t qos_ok = {0};
	amqp_confirm_select_ok_t select_ok = {0};
	amqp_basic_ack_t *ack = method;
	amqp_basic_nack_t *nack = method;
	amqp_basic_reject_t *reject = method;

	switch (id) {
	case AMQP_BASIC_QOS_METHOD:
		channel->prefetch = ((amqp_basic_qos_t *)method)->prefetch_count;
		sim_require(channel->prefetch > 0, "a prefetch without limit");
		send(connection, number, AMQP_BASIC_QOS_OK_METHOD, &qos_ok);
		break;
	case AMQP_BASIC_CONSUME_METHOD:
		on_consume(connection, number, method);
		break;
	case AMQP_BASIC_CANCEL_METHOD:
		on_cancel(connection, number, method);
		break;
	case AMQP_QUEUE_DECLARE_METHOD:
		on_declare(connection, number, method);
		break;
	case AMQP_CONFIRM_SELECT_METHOD:
		channel->confirms = true;
		send(connection, number, AMQP_CONFIRM_SELECT_OK_METHOD, &select_ok);
		break;
	case AMQP_BASIC_PUBLISH_METHOD:
		publish_on_method(connection, number, method);
		break;
	case AMQP_BASIC_ACK_METHOD:
		on_settle(connection, number, ack->delivery_tag, ack->multiple, true, false);
		break;
	case AMQP_BASIC_NACK_METHOD:
		on_settle(connection, number, nack->delivery_tag, nack->multiple, false,
			nack->requeue);
		break;
	case AMQP_BASIC_REJECT_METHOD:
		on_settle(connection, number, reject->delivery_tag, false, false, reject->requeue);
		break;
	case AMQP_CHANNEL_CLOSE_METHOD:
		on_close(connection, number);
		break;
	case AMQP_BASIC_CANCEL_OK_METHOD:
		break;
	default:
		sim_fail("a method that the fake broker does not know: %08x", id);
	}
}

void channel_on_method(struct broker_connection *connection, uint16_t number,
	amqp_method_number_t id, void *method)
{
	struct broker_channel *channel = &connection->channels[number];
	amqp_channel_close_ok_t close_ok = {0};

	if (id == AMQP_CHANNEL_OPEN_METHOD)
		on_open(connection, number);
	else if (channel->state == CHANNEL_OPEN)
		on_open_method(connection, number, id, method);
	else if (channel->state == CHANNEL_CLOSING && id == AMQP_CHANNEL_CLOSE_OK_METHOD)
		channel->state = CHANNEL_SHUT;
	else if (channel->state == CHANNEL_CLOSING && id == AMQP_CHANNEL_CLOSE_METHOD)
		send(connection, number, AMQP_CHANNEL_CLOSE_OK_METHOD, &close_ok); /* crossing */
	else /* what was on its way when the channel was closed is discarded */
		sim_require(
			channel->state == CHANNEL_CLOSING, "a method on a channel never opened");
}
