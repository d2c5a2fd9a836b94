#include "amqp/method_internal.h"

static void emit(struct connection *c, const struct channel *ch, enum amqp_event_kind kind)
{
	connection_emit(c, &(struct amqp_event){.kind = kind, .channel = ch->number});
}

/* Count the answer to a request. False: there was no request, and the connection has failed. */
static bool is_awaited(struct connection *c, struct channel *ch, enum awaited what)
{
	if (ch->awaited[what] == 0) {
		connection_fail(c, RC_MALFORMED, AMQP_COMMAND_INVALID,
			"answer on channel %u to what was never asked", ch->number);
		return false;
	}
	ch->awaited[what]--;
	return true;
}

static void take_qos_ok(struct connection *c, struct channel *ch, const void *fields)
{
	(void)fields;
	if (is_awaited(c, ch, AWAITED_QOS))
		emit(c, ch, AMQP_QOS_OK);
}

static void take_confirm_selected(struct connection *c, struct channel *ch, const void *fields)
{
	(void)fields;
	if (is_awaited(c, ch, AWAITED_CONFIRM_SELECT))
		emit(c, ch, AMQP_CONFIRM_SELECTED);
}

static void take_bound(struct connection *c, struct channel *ch, const void *fields)
{
	(void)fields;
	if (is_awaited(c, ch, AWAITED_BIND))
		emit(c, ch, AMQP_QUEUE_BOUND);
}

static void take_exchange_declared(struct connection *c, struct channel *ch, const void *fields)
{
	(void)fields;
	if (is_awaited(c, ch, AWAITED_EXCHANGE))
		emit(c, ch, AMQP_EXCHANGE_DECLARED);
}

static void take_queue_declared(struct connection *c, struct channel *ch, const void *fields)
{
	const amqp_queue_declare_ok_t *declared = fields;
	struct amqp_event event = {
		.kind = AMQP_QUEUE_DECLARED,
		.channel = ch->number,
		.queue = method_text(declared->queue),
		.messages = declared->message_count,
		.consumers = declared->consumer_count,
	};

	if (is_awaited(c, ch, AWAITED_QUEUE))
		connection_emit(c, &event);
}

static void emit_consumer(struct connection *c, const struct channel *ch, enum amqp_event_kind kind,
	amqp_bytes_t consumer)
{
	connection_emit(
		c, &(struct amqp_event){
			   .kind = kind, .channel = ch->number, .consumer = method_text(consumer)});
}

static void take_consume_ok(struct connection *c, struct channel *ch, const void *fields)
{
	const amqp_basic_consume_ok_t *consuming = fields;

	if (is_awaited(c, ch, AWAITED_CONSUME))
		emit_consumer(c, ch, AMQP_CONSUME_OK, consuming->consumer_tag);
}

static void take_cancel_ok(struct connection *c, struct channel *ch, const void *fields)
{
	const amqp_basic_cancel_ok_t *cancelled = fields;

	if (is_awaited(c, ch, AWAITED_CANCEL))
		emit_consumer(c, ch, AMQP_CANCEL_OK, cancelled->consumer_tag);
}

/* The broker cancels when a queue is deleted or a node is lost. */
static void take_cancel(struct connection *c, struct channel *ch, const void *fields)
{
	const amqp_basic_cancel_t *cancel = fields;
	amqp_basic_cancel_ok_t cancel_ok = {.consumer_tag = cancel->consumer_tag};

	if (cancel->nowait || method_answer(c, ch->number, AMQP_BASIC_CANCEL_OK_METHOD, &cancel_ok))
		emit_consumer(c, ch, AMQP_CANCELLED, cancel->consumer_tag);
}

static void take_flow(struct connection *c, struct channel *ch, const void *fields)
{
	const amqp_channel_flow_t *flow = fields;

	method_answer(c, ch->number, AMQP_CHANNEL_FLOW_OK_METHOD,
		&(amqp_channel_flow_ok_t){.active = flow->active});
}

/* Handle basic.ack and basic.nack. A tag of 0 with multiple means all (AMQP 0-9-1, basic.ack); the
 * event has the highest tag. */
static void take_confirm(struct connection *c, struct channel *ch, struct text arguments)
{
	struct cursor cursor = cursor_of(arguments);
	struct amqp_event event = {.kind = AMQP_CONFIRM, .channel = ch->number};

	event.tag = cursor_take64(&cursor);
	event.multiple = cursor_take8(&cursor) & 1;
	event.positive = c->method == AMQP_BASIC_ACK_METHOD;
	if (event.tag == 0 && event.multiple)
		event.tag = ch->published;
	if (!cursor_is_done(&cursor))
		connection_fail(c, RC_MALFORMED, AMQP_SYNTAX_ERROR, "malformed confirm");
	else if (!ch->is_confirming || event.tag == 0 || event.tag > ch->published)
		connection_fail(c, RC_MALFORMED, AMQP_COMMAND_INVALID,
			"confirm on channel %u of what was never published", ch->number);
	else
		connection_emit(c, &event);
}

static void take_open_ok(struct connection *c, struct channel *ch, const void *fields)
{
	(void)fields;
	ch->state = CHANNEL_OPEN;
	emit(c, ch, AMQP_CHANNEL_OPENED);
}

/* If both sides close at once, answer the peer's close but wait for the answer to ours: the channel
 * number must not be used again before that. */
static void take_close(struct connection *c, struct channel *ch, const void *fields)
{
	const amqp_channel_close_t *close = fields;
	struct amqp_event event = {
		.kind = AMQP_CHANNEL_CLOSED,
		.channel = ch->number,
		.code = close->reply_code,
		.text = method_text(close->reply_text),
	};

	if (!method_answer(
		    c, ch->number, AMQP_CHANNEL_CLOSE_OK_METHOD, &(amqp_channel_close_ok_t){0}) ||
		ch->state == CHANNEL_CLOSING)
		return;
	ch->state = CHANNEL_CLOSED;
	connection_emit(c, &event);
}

static void take_close_ok(struct connection *c, struct channel *ch, const void *fields)
{
	(void)fields;
	ch->state = CHANNEL_CLOSED;
	emit(c, ch, AMQP_CHANNEL_CLOSE_OK);
}

#define OPEN IN(CHANNEL_OPEN)
#define ANY  (IN(CHANNEL_OPENING) | IN(CHANNEL_OPEN) | IN(CHANNEL_CLOSING))

/* The most frequent first: the search is linear. */
static const struct method_row rows[] = {
	{AMQP_BASIC_DELIVER_METHOD, OPEN, NULL, NULL, content_begin},
	{AMQP_BASIC_ACK_METHOD, OPEN, NULL, NULL, take_confirm},
	{AMQP_BASIC_NACK_METHOD, OPEN, NULL, NULL, take_confirm},
	{AMQP_BASIC_RETURN_METHOD, OPEN, NULL, NULL, content_begin},
	{AMQP_BASIC_CANCEL_METHOD, OPEN, "so", take_cancel, NULL},
	{AMQP_BASIC_QOS_OK_METHOD, OPEN, "", take_qos_ok, NULL},
	{AMQP_BASIC_CONSUME_OK_METHOD, OPEN, "s", take_consume_ok, NULL},
	{AMQP_BASIC_CANCEL_OK_METHOD, OPEN, "s", take_cancel_ok, NULL},
	{AMQP_CONFIRM_SELECT_OK_METHOD, OPEN, "", take_confirm_selected, NULL},
	{AMQP_QUEUE_DECLARE_OK_METHOD, OPEN, "sii", take_queue_declared, NULL},
	{AMQP_QUEUE_BIND_OK_METHOD, OPEN, "", take_bound, NULL},
	{AMQP_EXCHANGE_DECLARE_OK_METHOD, OPEN, "", take_exchange_declared, NULL},
	{AMQP_CHANNEL_FLOW_METHOD, OPEN, "o", take_flow, NULL},
	{AMQP_CHANNEL_OPEN_OK_METHOD, IN(CHANNEL_OPENING), "S", take_open_ok, NULL},
	{AMQP_CHANNEL_CLOSE_METHOD, ANY, "hshh", take_close, NULL},
	{AMQP_CHANNEL_CLOSE_OK_METHOD, IN(CHANNEL_CLOSING), "", take_close_ok, NULL},
};

static const struct method_table table = {rows, sizeof rows / sizeof *rows};

void replies_take_method(struct connection *c, struct channel *ch, struct text payload)
{
	uint32_t id = method_id(payload);

	if (ch->content.stage != CONTENT_NONE)
		connection_fail(c, RC_MALFORMED, AMQP_UNEXPECTED_FRAME,
			"method in the middle of a content on channel %u", ch->number);
	else if (ch->state != CHANNEL_CLOSING || id == AMQP_CHANNEL_CLOSE_METHOD ||
		 id == AMQP_CHANNEL_CLOSE_OK_METHOD)
		method_take(c, ch, &table, ch->state, payload);
}
