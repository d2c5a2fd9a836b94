#include "sim/broker_internal.h"

#include <stdlib.h>

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

void channel_init(struct broker_channel *channel)
{
	memset(channel, 0, offsetof(struct broker_channel, consumers));
	list_init(&channel->unacked);
	list_init(&channel->settling);
	list_init(&channel->owed);
	list_init(&channel->noted);
	channel->prefetch = UINT32_MAX;
	buf_init(&channel->content, CONTENT_MAX);
}

void channel_reset(struct broker_connection *connection, uint16_t number)
{
	struct broker_channel *channel = &connection->channels[number];

	settle_end(connection, number);
	depart(connection->broker, channel);
	free_list(&channel->owed, offsetof(struct owed_confirm, place));
	free_list(&channel->noted, offsetof(struct noted, place));
	buf_release(&channel->content);
	channel_init(channel);
}

void channel_fail(struct broker_connection *connection, uint16_t number, uint16_t code,
	amqp_method_number_t cause, const char *words)
{
	amqp_channel_close_t close = {.reply_code = code,
		.reply_text = amqp_cstring_bytes(words),
		.class_id = (uint16_t)(cause >> 16),
		.method_id = (uint16_t)cause};

	channel_reset(connection, number);
	connection->channels[number].state = CHANNEL_CLOSING;
	send(connection, number, AMQP_CHANNEL_CLOSE_METHOD, &close);
	sim_trace("broker: closes channel %u (%u %s)", number, code, words);
}

void channel_blame(struct broker_connection *connection, uint16_t number, uint16_t code,
	amqp_method_number_t cause, const char *words)
{
	sim_require(connection->broker->answers_mistakes, "%s, on channel %u", words, number);
	channel_fail(connection, number, code, cause, words);
}

/* ---------- methods ---------- */

static void on_open(struct broker_connection *connection, uint16_t number)
{
	amqp_channel_open_ok_t ok = {0};

	sim_require(connection->channels[number].state == CHANNEL_SHUT, "a channel opened twice");
	if (connection->channel_count <= number)
		connection->channel_count = (uint16_t)(number + 1);
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

static void set_prefetch(const struct broker_connection *connection, struct broker_channel *channel,
	const amqp_basic_qos_t *qos)
{
	sim_require(connection->broker->answers_mistakes || qos->prefetch_count > 0,
		"a prefetch without limit");
	channel->prefetch = qos->prefetch_count ? qos->prefetch_count : UINT32_MAX;
}

static void on_settle(struct broker_connection *connection, uint16_t number,
	amqp_method_number_t id, const void *method)
{
	const amqp_basic_ack_t *ack = method;
	const amqp_basic_nack_t *nack = method;
	const amqp_basic_reject_t *reject = method;
	struct settlement settlement = {.cause = id};

	if (id == AMQP_BASIC_ACK_METHOD)
		settlement = (struct settlement){
			ack->delivery_tag, ack->multiple, .ack = true, .cause = id};
	else if (id == AMQP_BASIC_NACK_METHOD)
		settlement = (struct settlement){
			nack->delivery_tag, nack->multiple, .requeue = nack->requeue, .cause = id};
	else
		settlement = (struct settlement){
			reject->delivery_tag, .requeue = reject->requeue, .cause = id};
	settle_on_method(connection, number, &settlement);
}

void channel_work(struct broker_connection *connection, uint16_t number, bool generous)
{
	const struct broker_channel *channel = &connection->channels[number];

	if (!list_is_empty(&channel->owed))
		confirm_some(connection, number, generous);
	if (channel->logged < channel->sent_on)
		settle_log_some(connection, number, generous);
	if (channel->consumer_count > 0)
		consume_deliver(connection, number, generous);
}

static void on_open_method(struct broker_connection *connection, uint16_t number,
	amqp_method_number_t id, void *method)
{
	struct broker_channel *channel = &connection->channels[number];
	amqp_basic_qos_ok_t qos_ok = {0};
	amqp_confirm_select_ok_t select_ok = {0};

	switch (id) {
	case AMQP_BASIC_QOS_METHOD:
		set_prefetch(connection, channel, method);
		send(connection, number, AMQP_BASIC_QOS_OK_METHOD, &qos_ok);
		break;
	case AMQP_BASIC_CONSUME_METHOD:
		consume_on_consume(connection, number, method);
		break;
	case AMQP_BASIC_CANCEL_METHOD:
		consume_on_cancel(connection, number, method);
		break;
	case AMQP_QUEUE_DECLARE_METHOD:
		declare_on_declare(connection, number, method);
		break;
	case AMQP_QUEUE_DELETE_METHOD:
		declare_on_delete(connection, number, method);
		break;
	case AMQP_QUEUE_PURGE_METHOD:
		declare_on_purge(connection, number, method);
		break;
	case AMQP_CONFIRM_SELECT_METHOD:
		channel->confirms = true;
		send(connection, number, AMQP_CONFIRM_SELECT_OK_METHOD, &select_ok);
		break;
	case AMQP_BASIC_PUBLISH_METHOD:
		publish_on_method(connection, number, method);
		break;
	case AMQP_BASIC_ACK_METHOD:
	case AMQP_BASIC_NACK_METHOD:
	case AMQP_BASIC_REJECT_METHOD:
		on_settle(connection, number, id, method);
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
