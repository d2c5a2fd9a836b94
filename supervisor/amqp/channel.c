#include "amqp/channel.h"
#include "amqp/connection_internal.h"
#include <stdlib.h>

#define SLOTS_AT_FIRST  8
#define SHORT_MAX       255
#define CONTENT_HEAD    12 /* class, weight, body size */
#define ACK_SIZE        (FRAME_OVERHEAD + METHOD_ID_SIZE + 8 + 1)
#define CLASS_BASIC     60
#define BIT_MULTIPLE    1
#define BIT_NACKREQUEUE 2

/* Return the channel if commands may be sent on it, or NULL. */
static struct channel *channel_ready(const struct connection *c, uint16_t number)
{
	struct channel *ch = connection_channel(c, number);

	return c->state == CONNECTION_OPEN && ch && ch->state == CHANNEL_OPEN ? ch : NULL;
}

bool channel_is_open(const struct connection *c, uint16_t channel)
{
	return channel_ready(c, channel) != NULL;
}

bool channel_is_closed(const struct connection *c, uint16_t channel)
{
	const struct channel *ch = connection_channel(c, channel);

	return !ch || ch->state == CHANNEL_CLOSED;
}

/* Make the table large enough for the channel. */
static bool slots_grow(struct connection *c, uint16_t number)
{
	size_t wanted = c->channel_slots ? c->channel_slots * 2 : SLOTS_AT_FIRST;
	struct channel **grown;

	if (number < c->channel_slots)
		return true;
	if (wanted <= number)
		wanted = (size_t)number + 1;
	grown = realloc(c->channels, wanted * sizeof *grown);
	if (grown == NULL)
		return false;
	memset(grown + c->channel_slots, 0, (wanted - c->channel_slots) * sizeof *grown);
	c->channels = grown;
	c->channel_slots = wanted;
	return true;
}

void channel_open(struct connection *c, uint16_t channel)
{
	struct channel *ch;

	if (c->state != CONNECTION_OPEN || channel == 0 || channel > c->channel_max)
		return;
	if (slots_grow(c, channel) && c->channels[channel] == NULL)
		c->channels[channel] = calloc(1, sizeof *ch);
	ch = connection_channel(c, channel);
	if (ch == NULL) {
		c->has_failed = true;
		return;
	}
	if (ch->state != CHANNEL_CLOSED)
		return;
	ch->number = channel;
	ch->state = CHANNEL_OPENING;
	memset(ch->awaited, 0, sizeof ch->awaited);
	ch->consumes = ch->publishes = ch->is_confirming = false;
	ch->published = 0;
	method_send(c, channel, AMQP_CHANNEL_OPEN_METHOD, &(amqp_channel_open_t){{0, NULL}});
}

void channel_close(struct connection *c, uint16_t channel)
{
	channel_close_for(c, channel, CODE_SUCCESS, "done");
}

void channel_close_for(struct connection *c, uint16_t channel, uint16_t code, const char *text)
{
	struct channel *ch = connection_channel(c, channel);
	amqp_channel_close_t close = {
		.reply_code = code,
		.reply_text = amqp_cstring_bytes(text),
	};

	if (c->state != CONNECTION_OPEN || ch == NULL || ch->state == CHANNEL_CLOSED ||
		ch->state == CHANNEL_CLOSING)
		return;
	ch->state = CHANNEL_CLOSING;
	method_send(c, channel, AMQP_CHANNEL_CLOSE_METHOD, &close);
	content_drop(c, ch);
}

/* Send a method that the peer answers. */
static void request(
	struct connection *c, uint16_t channel, enum awaited answer, uint32_t id, void *fields)
{
	struct channel *ch = channel_ready(c, channel);

	if (ch == NULL)
		return;
	ch->awaited[answer]++;
	method_send(c, channel, id, fields);
}

void channel_qos(struct connection *c, uint16_t channel, uint16_t prefetch)
{
	amqp_basic_qos_t qos = {.prefetch_count = prefetch};

	request(c, channel, AWAITED_QOS, AMQP_BASIC_QOS_METHOD, &qos);
}

void channel_consume(struct connection *c, uint16_t channel, struct text queue,
	struct text consumer, bool no_ack)
{
	amqp_basic_consume_t consume = {
		.queue = method_bytes(queue),
		.consumer_tag = method_bytes(consumer),
		.no_ack = no_ack,
	};
	struct channel *ch = channel_ready(c, channel);

	if (ch)
		ch->consumes = true;
	request(c, channel, AWAITED_CONSUME, AMQP_BASIC_CONSUME_METHOD, &consume);
}

void channel_consume_nothing(struct connection *c, uint16_t channel, struct text queue)
{
	amqp_table_entry_t offset = {.key = amqp_cstring_bytes("x-stream-offset"),
		.value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes("next")}};
	amqp_basic_consume_t consume = {.queue = method_bytes(queue), .arguments = {1, &offset}};

	request(c, channel, AWAITED_CONSUME, AMQP_BASIC_CONSUME_METHOD, &consume);
}

void channel_cancel(struct connection *c, uint16_t channel, struct text consumer)
{
	amqp_basic_cancel_t cancel = {.consumer_tag = method_bytes(consumer)};

	request(c, channel, AWAITED_CANCEL, AMQP_BASIC_CANCEL_METHOD, &cancel);
}

/* Send basic.ack, .nack or .reject, which have the same layout. Not by rabbitmq-c, because there
 * are thousands of them. */
static void settle(struct connection *c, uint16_t channel, uint32_t id, uint64_t tag, unsigned bits)
{
	uint8_t *at = channel_ready(c, channel) ? connection_reserve(c, ACK_SIZE) : NULL;

	if (at == NULL)
		return;
	at = frame_begin(at, AMQP_FRAME_METHOD, channel, ACK_SIZE - FRAME_OVERHEAD);
	at = octets_put64(octets_put32(at, id), tag);
	frame_end(octets_put8(at, (uint8_t)bits));
}

void channel_ack(struct connection *c, uint16_t channel, uint64_t tag, bool multiple)
{
	settle(c, channel, AMQP_BASIC_ACK_METHOD, tag, multiple ? BIT_MULTIPLE : 0);
}

void channel_nack(struct connection *c, uint16_t channel, uint64_t tag)
{
	settle(c, channel, AMQP_BASIC_NACK_METHOD, tag, BIT_NACKREQUEUE);
}

void channel_reject(struct connection *c, uint16_t channel, uint64_t tag)
{
	settle(c, channel, AMQP_BASIC_REJECT_METHOD, tag, 0);
}

void channel_confirm_select(struct connection *c, uint16_t channel)
{
	struct channel *ch = channel_ready(c, channel);

	if (ch == NULL)
		return;
	ch->is_confirming = true;
	request(c, channel, AWAITED_CONFIRM_SELECT, AMQP_CONFIRM_SELECT_METHOD,
		&(amqp_confirm_select_t){0});
}

/* Memory is reserved once for all frames, so that the output has the whole publish or nothing. */
void channel_publish(struct connection *c, uint16_t channel, const struct amqp_publish *p)
{
	struct channel *ch = channel_ready(c, channel);
	size_t payload_max = c->frame_max - FRAME_OVERHEAD;
	size_t body_frames = (p->body.len + payload_max - 1) / payload_max;
	/* ticket, two short strings, bits */
	size_t method_len = METHOD_ID_SIZE + 2 + 1 + p->exchange.len + 1 + p->routing_key.len + 1;
	size_t header_len = CONTENT_HEAD + p->properties.len;
	uint8_t *at;

	if (ch == NULL)
		return;
	if (p->exchange.len > SHORT_MAX || p->routing_key.len > SHORT_MAX ||
		p->properties.len > payload_max - CONTENT_HEAD) {
		c->has_failed = true;
		return;
	}
	at = connection_reserve(
		c, method_len + header_len + p->body.len + (2 + body_frames) * FRAME_OVERHEAD);
	if (at == NULL)
		return;
	at = frame_begin(at, AMQP_FRAME_METHOD, channel, method_len);
	at = octets_put16(octets_put32(at, AMQP_BASIC_PUBLISH_METHOD), 0);
	at = octets_put_short(octets_put_short(at, p->exchange), p->routing_key);
	at = frame_end(octets_put8(at, p->mandatory));

	at = frame_begin(at, AMQP_FRAME_HEADER, channel, header_len);
	at = octets_put16(octets_put16(at, CLASS_BASIC), 0);
	at = frame_end(octets_put_text(octets_put64(at, p->body.len), p->properties));

	for (size_t done = 0, len; done < p->body.len; done += len) {
		len = p->body.len - done < payload_max ? p->body.len - done : payload_max;
		at = frame_begin(at, AMQP_FRAME_BODY, channel, len);
		at = frame_end(octets_put_text(at, text_of(p->body.ptr + done, len)));
	}
	ch->publishes |= p->mandatory;
	if (ch->is_confirming)
		ch->published++;
}

static amqp_table_entry_t argument_entry(const struct amqp_argument *argument)
{
	amqp_table_entry_t entry = {.key = amqp_cstring_bytes(argument->key)};

	if (argument->string == amqp_true || argument->string == amqp_false) {
		entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
		entry.value.value.boolean = argument->string == amqp_true;
	} else if (argument->string) {
		entry.value.kind = AMQP_FIELD_KIND_UTF8;
		entry.value.value.bytes = amqp_cstring_bytes(argument->string);
	} else {
		entry.value.kind = AMQP_FIELD_KIND_I64;
		entry.value.value.i64 = argument->number;
	}
	return entry;
}

void channel_declare_queue(struct connection *c, uint16_t channel, const struct amqp_queue *queue)
{
	amqp_table_entry_t entries[AMQP_ARGUMENTS_MAX];
	amqp_queue_declare_t declare = {
		.queue = method_bytes(queue->name),
		.passive = queue->passive,
		.durable = queue->durable,
		.exclusive = queue->exclusive,
		.auto_delete = queue->auto_delete,
		.arguments = {(int)queue->argument_count, entries},
	};

	if (queue->argument_count > AMQP_ARGUMENTS_MAX) {
		c->has_failed = true;
		return;
	}
	for (size_t i = 0; i < queue->argument_count; i++)
		entries[i] = argument_entry(&queue->arguments[i]);
	request(c, channel, AWAITED_QUEUE, AMQP_QUEUE_DECLARE_METHOD, &declare);
}

void channel_declare_exchange(struct connection *c, uint16_t channel, struct text name,
	struct text type, bool passive, bool durable)
{
	amqp_exchange_declare_t declare = {
		.exchange = method_bytes(name),
		.type = method_bytes(type),
		.passive = passive,
		.durable = durable,
	};

	request(c, channel, AWAITED_EXCHANGE, AMQP_EXCHANGE_DECLARE_METHOD, &declare);
}

void channel_bind_queue(struct connection *c, uint16_t channel, struct text queue,
	struct text exchange, struct text routing_key)
{
	channel_bind_queue_by(c, channel, queue, exchange, routing_key, NULL, 0);
}

void channel_bind_queue_by(struct connection *c, uint16_t channel, struct text queue,
	struct text exchange, struct text routing_key, const struct amqp_argument *arguments,
	size_t count)
{
	amqp_table_entry_t entries[AMQP_ARGUMENTS_MAX];
	amqp_queue_bind_t bind = {
		.queue = method_bytes(queue),
		.exchange = method_bytes(exchange),
		.routing_key = method_bytes(routing_key),
		.arguments = {(int)count, entries},
	};

	if (count > AMQP_ARGUMENTS_MAX) {
		c->has_failed = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		entries[i] = argument_entry(&arguments[i]);
	request(c, channel, AWAITED_BIND, AMQP_QUEUE_BIND_METHOD, &bind);
}
