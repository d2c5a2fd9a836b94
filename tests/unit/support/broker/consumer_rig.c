#include "unit/support/broker/consumer_rig.h"

#include "unit/unit.h"

#include <stdio.h>

char rig_calls[256];
struct consumer *rig_consumer;
uint32_t rig_window, rig_returns_max;
bool rig_is_open;
struct text rig_version;
struct pool_unacked rig_in_hand;
uint64_t rig_throttle_keys[PASSES_MAX];
char rig_warning[768];
unsigned rig_warnings, rig_advices;

static void record_call(const char *letter)
{
	ck_assert_uint_lt(strlen(rig_calls) + 1, sizeof rig_calls);
	strcat(rig_calls, letter);
}

/* ---------- the channel ---------- */

void channel_open(struct connection *connection, uint16_t channel)
{
	(void)connection, (void)channel;
	record_call("o");
	rig_is_open = true;
}

void channel_close(struct connection *connection, uint16_t channel)
{
	(void)connection, (void)channel;
	record_call("X");
}

void channel_close_for(
	struct connection *connection, uint16_t channel, uint16_t code, const char *text)
{
	(void)connection, (void)channel;
	ck_assert_int_eq(code, 406);
	ck_assert_ptr_nonnull(strstr(text, " messages of "));
	record_call("4");
}

bool channel_is_open(const struct connection *connection, uint16_t channel)
{
	(void)connection, (void)channel;
	return rig_is_open;
}

void channel_qos(struct connection *connection, uint16_t channel, uint16_t prefetch)
{
	(void)connection, (void)channel, (void)prefetch;
}

void channel_consume(struct connection *connection, uint16_t channel, struct text queue,
	struct text consumer, bool exclusive)
{
	(void)connection, (void)channel, (void)queue, (void)consumer, (void)exclusive;
	record_call("c");
}

void channel_cancel(struct connection *connection, uint16_t channel, struct text consumer)
{
	(void)connection, (void)channel, (void)consumer;
	record_call("C");
}

void channel_ack(struct connection *connection, uint16_t channel, uint64_t tag, bool multiple)
{
	(void)connection, (void)channel, (void)tag, (void)multiple;
	record_call("a");
}

void channel_nack(struct connection *connection, uint16_t channel, uint64_t tag)
{
	(void)connection, (void)channel, (void)tag;
	record_call("n");
}

void channel_reject(struct connection *connection, uint16_t channel, uint64_t tag)
{
	(void)connection, (void)channel, (void)tag;
	record_call("r");
}

void channel_declare_queue(
	struct connection *connection, uint16_t channel, const struct amqp_queue *queue)
{
	(void)connection, (void)channel;
	record_call(queue->passive ? "d" : "m");
}

void channel_declare_exchange(struct connection *connection, uint16_t channel, struct text name,
	struct text type, bool passive, bool durable)
{
	(void)connection, (void)channel, (void)name, (void)type, (void)passive, (void)durable;
	record_call("x");
}

void channel_bind_queue_by(struct connection *connection, uint16_t channel, struct text queue,
	struct text exchange, struct text routing_key, const struct amqp_argument *arguments,
	size_t count)
{
	(void)connection, (void)channel, (void)queue, (void)exchange, (void)routing_key;
	(void)arguments, (void)count;
	record_call("b");
}

struct text connection_peer_version(const struct connection *connection)
{
	(void)connection;
	return rig_version;
}

/* ---------- the pool ---------- */

void pool_step(struct pool *pool, mtime now, const struct event *event)
{
	(void)pool, (void)now;
	if (event->kind == SOURCE_UP) {
		rig_window = event->source.window;
		rig_returns_max = event->source.returns_max;
	}
	if (event->kind == SOURCE_CANCELLED)
		record_call("L");
	if (event->kind == SOURCE_DOWN)
		record_call("D");
	if (event->kind == DELIVERY) {
		memcpy(rig_throttle_keys, event->source.delivery->throttle_keys,
			sizeof rig_throttle_keys);
		delivery_free(event->source.delivery);
	}
}

struct pool_unacked pool_unacked(const struct pool *pool)
{
	(void)pool;
	return rig_in_hand;
}

static void on_log_line(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	if (strstr(text, "than it was asked for"))
		record_call("E");
	if (level >= LOG_INFO && strstr(text, "no single active consumer"))
		rig_advices++;
	if (level < LOG_WARN)
		return;
	rig_warnings++;
	snprintf(rig_warning, sizeof rig_warning, "%s", text);
}

/* ---------- a run ---------- */

static const struct channel_log channel_log = {on_log_line, NULL};

void rig_begin(const struct consumer_config *config)
{
	rig_calls[0] = rig_warning[0] = 0;
	rig_warnings = rig_advices = 0;
	rig_is_open = false;
	rig_version = TEXT("3.10.8");
	rig_in_hand = (struct pool_unacked){.memory = 1000, .oldest_tag = UINT64_MAX};
	rig_consumer = consumer_new(config, &channel_log);
	ck_assert_ptr_nonnull(rig_consumer);
	consumer_up(rig_consumer, (struct connection *)rig_calls);
}

void rig_end(void)
{
	consumer_free(rig_consumer);
}

void rig_expect(const char *calls)
{
	ck_assert_str_eq(rig_calls, calls);
	rig_calls[0] = 0;
}

void rig_event(enum amqp_event_kind kind, struct text consumer, mtime now)
{
	struct amqp_event event = {.kind = kind, .channel = 1, .consumer = consumer};

	consumer_on_event(rig_consumer, &event, now);
}

void rig_declared(uint32_t consumers, mtime now)
{
	struct amqp_event event = {
		.kind = AMQP_QUEUE_DECLARED, .channel = 1, .consumers = consumers};

	consumer_on_event(rig_consumer, &event, now);
}

void rig_closed(uint16_t code, const char *reason, mtime now)
{
	struct amqp_event event = {
		.kind = AMQP_CHANNEL_CLOSED, .channel = 1, .code = code, .text = text_from(reason)};

	rig_is_open = false;
	consumer_on_event(rig_consumer, &event, now);
}

void rig_close_ok(mtime now)
{
	rig_is_open = false;
	rig_event(AMQP_CHANNEL_CLOSE_OK, TEXT_NONE, now);
}

void rig_deliver(uint32_t count, mtime now)
{
	struct amqp_event event = {.kind = AMQP_DELIVERY, .channel = 1, .tag = count};

	ck_assert_ptr_nonnull(consumer_content_memory(rig_consumer, 4, &event.content.owner));
	event.content.body = TEXT("body");
	rig_in_hand.count = count;
	consumer_on_event(rig_consumer, &event, now);
}

void rig_request(enum source_request what, uint32_t window)
{
	consumer_request(rig_consumer, what, window);
	consumer_tick(rig_consumer, 0);
}
