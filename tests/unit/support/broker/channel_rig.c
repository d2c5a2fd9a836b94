#include "unit/support/broker/channel_rig.h"

#include <stdio.h>

struct channel_rig rig;

/* ---------- the fake ---------- */

static void record_call(const char *what, uint16_t channel)
{
	size_t len = strlen(rig.calls);

	snprintf(rig.calls + len, sizeof rig.calls - len, "%s%s%u", len > 0 ? " " : "", what,
		channel);
	ck_assert_uint_lt(strlen(rig.calls), sizeof rig.calls - 1);
}

void channel_open(struct connection *connection, uint16_t channel)
{
	(void)connection;
	record_call("open", channel);
}

void channel_close(struct connection *connection, uint16_t channel)
{
	(void)connection;
	record_call("close", channel);
}

void channel_cancel(struct connection *connection, uint16_t channel, struct text consumer)
{
	(void)connection;
	ck_assert(text_is(consumer, TEXT("wpool-requests")));
	record_call("cancel", channel);
}

static void expect_argument(
	const struct amqp_argument *argument, const char *key, const char *string, int64_t number)
{
	ck_assert_str_eq(argument->key, key);
	ck_assert_pstr_eq(argument->string, string);
	ck_assert_int_eq(argument->number, number);
}

static void expect_settings(const struct amqp_queue *queue)
{
	ck_assert(queue->durable && !queue->exclusive && !queue->auto_delete);
	ck_assert_uint_eq(queue->argument_count, 3);
	expect_argument(&queue->arguments[0], "x-queue-type", "quorum", 0);
	expect_argument(&queue->arguments[1], "x-single-active-consumer", amqp_true, 0);
	ck_assert_ptr_eq(queue->arguments[1].string, amqp_true);
	expect_argument(&queue->arguments[2], "x-expires", NULL, 86400000);
}

void channel_declare_queue(
	struct connection *connection, uint16_t channel, const struct amqp_queue *queue)
{
	bool only_counts = queue->passive && queue->argument_count == 0;

	(void)connection;
	ck_assert(text_is(queue->name, QUEUE));
	if (!only_counts)
		expect_settings(queue);
	record_call(only_counts ? "count" : queue->passive ? "check" : "declare", channel);
}

void channel_consume(struct connection *connection, uint16_t channel, struct text queue,
	struct text consumer, bool no_ack)
{
	bool is_for_answers = text_is(queue, TEXT("amq.rabbitmq.reply-to"));

	(void)connection;
	ck_assert(no_ack);
	ck_assert(is_for_answers || text_is(queue, QUEUE));
	ck_assert(
		text_is(consumer, is_for_answers ? TEXT("wpool-answers") : TEXT("wpool-requests")));
	record_call(is_for_answers ? "consume-answers" : "consume-requests", channel);
}

static const char *read_published(const struct amqp_publish *publish)
{
	switch (throttle_message_kind(publish->body)) {
	case THROTTLE_REQUEST:
		ck_assert_pstr_eq(throttle_request_read(publish->body, &rig.asked), NULL);
		return "ask";
	case THROTTLE_ANSWER:
		ck_assert_pstr_eq(throttle_answer_read(publish->body, &rig.answered), NULL);
		return "answer";
	case THROTTLE_LEAVE:
		ck_assert_pstr_eq(throttle_leave_read(publish->body, &rig.leaver), NULL);
		return "leave";
	case THROTTLE_TAKE:
		ck_assert_pstr_eq(throttle_take_read(publish->body, &rig.taker), NULL);
		return "take";
	default:
		ck_assert_pstr_eq(throttle_handover_read(publish->body, &rig.handed), NULL);
		return "handover";
	}
}

/* Requests and the announcement of a leader that leaves go to the queue, the others to a channel.
 * All but answers and handovers want an answer. */
static void expect_way(enum throttle_message kind, const struct amqp_publish *publish)
{
	bool is_for_queue = kind == THROTTLE_REQUEST || kind == THROTTLE_LEAVE;
	bool is_question = is_for_queue || kind == THROTTLE_TAKE;
	struct properties properties;

	ck_assert(text_is(publish->exchange, TEXT("")));
	ck_assert(text_is(publish->routing_key, QUEUE) == is_for_queue);
	ck_assert_int_eq(properties_parse(publish->properties, &properties), RC_OK);
	ck_assert(text_is(properties.value[PROPERTY_REPLY_TO], TEXT("amq.rabbitmq.reply-to")) ==
		  is_question);
}

void channel_publish(
	struct connection *connection, uint16_t channel, const struct amqp_publish *publish)
{
	(void)connection;
	expect_way(throttle_message_kind(publish->body), publish);
	snprintf(rig.address, sizeof rig.address, "%.*s", TEXT_ARGS(publish->routing_key));
	record_call(read_published(publish), channel);
}

/* ---------- the rig ---------- */

static void on_log_line(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	if (level < LOG_INFO)
		return;
	rig.logged_level = level;
	snprintf(rig.logged, sizeof rig.logged, "%s", text);
}

void channel_rig_set_up(mtime period)
{
	const struct throttle_figures figures = {.limit = 2, .period = period, .max_keys = 1};

	rig = (struct channel_rig){.connection = (struct connection *)&rig,
		.log = {.on_log_line = on_log_line},
		.now = SHARED_PERIOD_MAX,
		.period = period};
	buf_init(&rig.message, THROTTLE_MESSAGE_MAX);
	rig.throttle = throttle_new(&figures, 1);
	ck_assert_ptr_nonnull(rig.throttle);
	rig.member = member_new(rig.throttle, OWN);
	ck_assert_ptr_nonnull(rig.member);
	rig.channel = throttle_channel_new(rig.member, TEXT("erp"), &rig.log, 1);
	ck_assert_ptr_nonnull(rig.channel);
}

void channel_rig_tear_down(void)
{
	throttle_channel_free(rig.channel);
	member_free(rig.member);
	throttle_free(rig.throttle);
	buf_release(&rig.message);
}

void expect(const char *wanted)
{
	ck_assert_str_eq(rig.calls, wanted);
	rig.calls[0] = '\0';
}

void handle(enum amqp_event_kind kind)
{
	throttle_channel_on_event(
		rig.channel, &(struct amqp_event){.kind = kind, .channel = 3}, rig.now);
}

void tick(void)
{
	throttle_channel_tick(rig.channel, true, rig.now);
}

void consume(void)
{
	throttle_channel_up(rig.channel, rig.connection, 3);
	handle(AMQP_CHANNEL_OPENED);
	handle(AMQP_CONSUME_OK);
	handle(AMQP_QUEUE_DECLARED);
	handle(AMQP_CONSUME_OK);
	expect("open3 consume-answers3 declare3 consume-requests3");
	rig.logged[0] = '\0';
}

/* ---------- messages ---------- */

void deliver(const char *tag, struct text properties, struct text body)
{
	const struct amqp_event event = {.kind = AMQP_DELIVERY,
		.channel = 3,
		.redelivered = rig.is_redelivered,
		.consumer = text_from(tag),
		.content = {.properties = properties, .body = body}};

	throttle_channel_on_event(rig.channel, &event, rig.now);
}

void deliver_to(const char *tag, struct text body, struct text reply_to)
{
	struct properties properties = {0};
	struct buf raw;

	if (reply_to.len > 0)
		properties_set(&properties, PROPERTY_REPLY_TO, reply_to);
	buf_init(&raw, 1024);
	properties_write(&properties, &raw);
	deliver(tag, buf_text(&raw), body);
	buf_release(&raw);
}

void deliver_request(const struct throttle_request *request, struct text reply_to)
{
	struct amqp_publish publish;

	ck_assert_int_eq(throttle_request_write(request, QUEUE, &rig.message, &publish), RC_OK);
	deliver_to("wpool-requests", publish.body, reply_to);
}

void deliver_answer(const struct throttle_answer *answer)
{
	struct amqp_publish publish;

	ck_assert_int_eq(throttle_answer_write(answer, ADDRESS, &rig.message, &publish), RC_OK);
	deliver("wpool-answers", publish.properties, publish.body);
}

struct throttle_request request_of_other(void)
{
	return (struct throttle_request){.member = OTHER,
		.number = 44,
		.lease = LEASE_MIN,
		.figures = {.limit = 2, .period = rig.period},
		.count = 1,
		.keys = {{.key = THROTTLE_NO_KEY, .starts = 1}}};
}
