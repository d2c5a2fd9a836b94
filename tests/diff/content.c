#include "diff/content.h"

#include "amqp/properties.h"
#include "sim/fail.h"

#include <stdio.h>
#include <stdlib.h>

#define BUFFER_MAX ((size_t)64 * 1024 * 1024)
#define TOKEN      "amq.rabbitmq.reply-to."

static uint32_t message_of(struct text body)
{
	char digits[16] = {0};

	sim_require(body.len > 1 && body.len < sizeof digits && body.ptr[0] == 'm',
		"a body that was never published");
	memcpy(digits, body.ptr + 1, body.len - 1);
	return (uint32_t)strtoul(digits, NULL, 10);
}

static void remember_token(struct client *client, uint32_t message, struct text raw)
{
	struct properties properties;
	struct text reply_to;

	if (properties_parse(raw, &properties) != RC_OK || message >= client->token_count)
		return;
	reply_to = properties.value[PROPERTY_REPLY_TO];
	if (!text_starts(reply_to, TEXT(TOKEN)) || reply_to.len >= sizeof *client->tokens)
		return;
	memcpy(client->tokens[message], reply_to.ptr, reply_to.len);
	client->tokens[message][reply_to.len] = 0;
}

bool content_queue_of(struct text consumer, uint8_t *ret_queue)
{
	if (consumer.len != 2 || consumer.ptr[0] != 'k')
		return false;
	*ret_queue = (uint8_t)(consumer.ptr[1] - '0');
	return *ret_queue < SCRIPT_QUEUES;
}

static void remember_unacked(
	struct client *client, struct client_channel *channel, uint32_t message)
{
	uint8_t queue;

	if (!content_queue_of(text_from(channel->consumer), &queue) || channel->no_ack[queue])
		return;
	sim_require(channel->unacked_count < UNACKED_MAX, "too many deliveries");
	struct unacked *unacked = &channel->unacked[channel->unacked_count++];
	*unacked = (struct unacked){
		.tag = channel->deliver.delivery_tag, .message = message, .step = client->step};
	memcpy(unacked->consumer, channel->consumer, sizeof unacked->consumer);
}

static bool is_confirmed(const struct client_channel *channel, uint32_t message)
{
	for (uint64_t i = 1; i <= channel->published; i++)
		if (channel->messages[i] == message)
			return channel->confirmed[i];
	return false;
}

/* Tags count from 1. An answer to direct reply-to has the tag of the next delivery. */
static bool has_right_tag(struct client_channel *channel)
{
	uint8_t queue;
	bool is_right = channel->deliver.delivery_tag == channel->last_tag + 1;

	if (!content_queue_of(text_from(channel->consumer), &queue))
		return true;
	channel->last_tag = channel->deliver.delivery_tag;
	return is_right;
}

static void end_content(struct client *client, uint16_t number)
{
	struct client_channel *channel = &client->channels[number];
	struct text all = buf_text(&channel->content);
	struct text properties = text_of(all.ptr, channel->properties_len);
	struct text body = text_of(all.ptr + properties.len, all.len - properties.len);
	struct event event = {.connection = client->number,
		.channel = (uint8_t)number,
		.group = channel->is_return ? GROUP_RETURN : GROUP_DELIVERY};
	struct buf text;

	buf_init(&text, BUFFER_MAX);
	canon_properties(properties, &text);
	if (channel->is_return) {
		events_add(client->events, &event, "return %.*s %s%s%s", TEXT_ARGS(body),
			channel->key,
			is_confirmed(channel, message_of(body)) ? " AFTER ITS CONFIRM" : "",
			text.bytes);
	} else {
		memcpy(event.consumer, channel->consumer, sizeof event.consumer);
		events_add(client->events, &event, "deliver %.*s to %s%s%s key \"%s\"%s",
			TEXT_ARGS(body), channel->consumer,
			channel->deliver.redelivered ? " again" : "",
			has_right_tag(channel) ? "" : " TAG GAP",
			text_starts(text_from(channel->key), TEXT(TOKEN)) ? "(token)"
									  : channel->key,
			text.bytes);
		remember_unacked(client, channel, message_of(body));
		remember_token(client, message_of(body), properties);
	}
	buf_release(&text);
	buf_clear(&channel->content);
	channel->in_content = false;
}

static uint64_t be64(const char *bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | (uint8_t)bytes[i];
	return value;
}

void content_take(struct client *client, const struct peer_frame *frame)
{
	struct client_channel *channel = &client->channels[frame->channel];

	if (frame->type == AMQP_FRAME_HEADER) {
		channel->body_size = be64(frame->payload.ptr + 4);
		channel->properties_len = frame->payload.len - 12;
		buf_append(&channel->content, frame->payload.ptr + 12, channel->properties_len);
	} else {
		buf_append_text(&channel->content, frame->payload);
	}
	if (channel->in_content &&
		buf_len(&channel->content) - channel->properties_len >= channel->body_size)
		end_content(client, frame->channel);
}

static void copy_string(char *to, size_t size, amqp_bytes_t from)
{
	snprintf(to, size, "%.*s", (int)from.len, (char *)from.bytes);
}

void content_begin_delivery(struct client_channel *channel, const amqp_basic_deliver_t *deliver)
{
	channel->in_content = true;
	channel->is_return = false;
	channel->deliver = *deliver;
	copy_string(channel->consumer, sizeof channel->consumer, deliver->consumer_tag);
	copy_string(channel->key, sizeof channel->key, deliver->routing_key);
}

void content_begin_return(struct client_channel *channel, const amqp_basic_return_t *returned)
{
	char key[128];

	copy_string(key, sizeof key, returned->routing_key);
	channel->in_content = channel->is_return = true;
	snprintf(channel->key, sizeof channel->key, "%u key \"%s\"", returned->reply_code,
		text_starts(text_from(key), TEXT(TOKEN)) ? "(token)" : key);
}
