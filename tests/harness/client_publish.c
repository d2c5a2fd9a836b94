#include "harness/client_internal.h"

#include "harness/deadline.h"

#include <check.h>
#include <poll.h>
#include <string.h>

void client_open_publishing_channel(struct client *client)
{
	client_open_channel(client->publisher, 1);
	amqp_confirm_select(client->publisher, 1);
	client_must(amqp_get_rpc_reply(client->publisher), "confirm.select");
	client->published = 0;
}

/* Count the answer for one publish, or for all up to it. */
struct confirm {
	uint64_t tag;
	bool is_ack, is_multiple;
};

/* Read the next ack or nack; anything else fails the test. */
static struct confirm next_confirm(struct client *client, const char *queue)
{
	amqp_frame_t frame;
	struct confirm confirm;
	struct timeval limit = client_timeval(DEADLINE_DEFAULT_MS);
	int status = amqp_simple_wait_frame_noblock(client->publisher, &frame, &limit);
	ck_assert_msg(status == AMQP_STATUS_OK, "no confirm: %s", amqp_error_string2(status));
	ck_assert_int_eq(frame.frame_type, AMQP_FRAME_METHOD);
	const amqp_method_t *method = &frame.payload.method;
	if (method->id == AMQP_BASIC_NACK_METHOD) {
		const amqp_basic_nack_t *nack = method->decoded;
		confirm = (struct confirm){nack->delivery_tag, false, nack->multiple};
	} else {
		ck_assert_msg(method->id == AMQP_BASIC_ACK_METHOD,
			"publish to %s was answered by %s", queue, amqp_method_name(method->id));
		const amqp_basic_ack_t *ack = method->decoded;
		confirm = (struct confirm){ack->delivery_tag, true, ack->multiple};
	}
	amqp_maybe_release_buffers(client->publisher);
	return confirm;
}

static void publish(struct client *client, const char *queue, amqp_bytes_t body,
	const amqp_basic_properties_t *given)
{
	amqp_basic_properties_t properties = {0};
	if (given)
		properties = *given;
	properties._flags |= AMQP_BASIC_DELIVERY_MODE_FLAG;
	properties.delivery_mode = AMQP_DELIVERY_PERSISTENT;
	int status = amqp_basic_publish(client->publisher, 1, amqp_empty_bytes,
		amqp_cstring_bytes(queue), true, false, &properties, body);
	ck_assert_msg(status == AMQP_STATUS_OK, "publish: %s", amqp_error_string2(status));
	client->published++;
}

void client_publish(struct client *client, const char *queue, const void *body, size_t size,
	const amqp_basic_properties_t *properties)
{
	amqp_bytes_t bytes = {.len = size, .bytes = (void *)(uintptr_t)body};
	publish(client, queue, bytes, properties);
	ck_assert_msg(next_confirm(client, queue).is_ack, "publish to %s was nacked", queue);
}

static void set_text(amqp_basic_properties_t *properties, amqp_flags_t flag,
	amqp_bytes_t *ret_place, const char *text)
{
	if (!text)
		return;
	properties->_flags |= flag;
	*ret_place = amqp_cstring_bytes(text);
}

void letter_add_header(struct letter *letter, const char *name, const char *value)
{
	size_t i = 0;
	while (letter->headers[i].name)
		i++;
	ck_assert_uint_lt(i, LETTER_HEADERS);
	letter->headers[i].name = name;
	letter->headers[i].value = value;
}

amqp_basic_properties_t client_letter_properties(
	const struct letter *letter, amqp_table_entry_t *entries)
{
	amqp_basic_properties_t properties = {0};
	set_text(&properties, AMQP_BASIC_REPLY_TO_FLAG, &properties.reply_to, letter->reply_to);
	set_text(&properties, AMQP_BASIC_CORRELATION_ID_FLAG, &properties.correlation_id,
		letter->correlation_id);
	set_text(&properties, AMQP_BASIC_MESSAGE_ID_FLAG, &properties.message_id,
		letter->message_id);
	int count = 0;
	for (; count < LETTER_HEADERS && letter->headers[count].name; count++) {
		entries[count].key = amqp_cstring_bytes(letter->headers[count].name);
		entries[count].value.kind = AMQP_FIELD_KIND_UTF8;
		entries[count].value.value.bytes = amqp_cstring_bytes(letter->headers[count].value);
	}
	if (count) {
		properties._flags |= AMQP_BASIC_HEADERS_FLAG;
		properties.headers = (amqp_table_t){count, entries};
	}
	return properties;
}

void client_post(struct client *client, const char *queue, const struct letter *letter)
{
	amqp_table_entry_t entries[LETTER_HEADERS];
	amqp_basic_properties_t properties = client_letter_properties(letter, entries);
	client_publish(client, queue, letter->body, strlen(letter->body), &properties);
}

/* Wait for the confirms of the latest `count` publishes; is_acked is in their order. */
static void await_confirms(struct client *client, const char *queue, size_t count, bool is_acked[])
{
	uint64_t first = client->published - count + 1;
	bool is_answered[CLIENT_AT_ONCE] = {false};
	for (size_t open = count; open > 0;) {
		struct confirm confirm = next_confirm(client, queue);
		for (uint64_t tag = confirm.is_multiple ? first : confirm.tag; tag <= confirm.tag;
			tag++) {
			if (is_answered[tag - first])
				continue;
			is_answered[tag - first] = true;
			is_acked[tag - first] = confirm.is_ack;
			open--;
		}
	}
}

/* Publish the messages numbered by `open`; then `open` has the numbers of the nacked ones. Return
 * their count. */
static size_t post_open(struct client *client, const char *queue, const struct letter letters[],
	size_t open[], size_t count)
{
	bool is_acked[CLIENT_AT_ONCE];
	size_t left = 0;
	amqp_table_entry_t entries[LETTER_HEADERS];
	for (size_t i = 0; i < count; i++) {
		const struct letter *letter = &letters[open[i]];
		amqp_basic_properties_t properties = client_letter_properties(letter, entries);
		publish(client, queue, amqp_cstring_bytes(letter->body), &properties);
	}
	await_confirms(client, queue, count, is_acked);
	for (size_t i = 0; i < count; i++)
		if (!is_acked[i])
			open[left++] = open[i];
	return left;
}

/* A broker does not report that a queue takes messages again, so it is polled. */
static void post_share(struct client *client, const char *queue, const struct letter letters[],
	size_t count, unsigned nacks[])
{
	size_t open[CLIENT_AT_ONCE];
	int64_t deadline = deadline_in(CLIENT_LIMIT_MS);
	for (size_t i = 0; i < count; i++)
		open[i] = i;
	while ((count = post_open(client, queue, letters, open, count)) > 0) {
		ck_assert_msg(deadline_left(deadline) > 0, "%s refuses publishes", queue);
		for (size_t i = 0; nacks && i < count; i++)
			nacks[open[i]]++;
		poll(NULL, 0, 50);
		client_must(amqp_channel_close(client->publisher, 1, AMQP_REPLY_SUCCESS),
			"channel.close");
		client_open_publishing_channel(client);
	}
}

void client_post_all(struct client *client, const char *queue, const struct letter letters[],
	size_t count, unsigned nacks[])
{
	for (size_t done = 0; done < count; done += CLIENT_AT_ONCE) {
		size_t share = count - done < CLIENT_AT_ONCE ? count - done : CLIENT_AT_ONCE;
		post_share(client, queue, letters + done, share, nacks ? nacks + done : NULL);
	}
}

void client_send(struct client *client, const char *queue, const char *text)
{
	client_post(client, queue, &(struct letter){.body = text});
}
