#include "runtime/consume_link.h"

#include "os/clock.h"

#include <stdlib.h>

#define PROBE_CHANNEL (CONSUME_CHANNEL + 1)
#define DEAD_CHANNEL  (TOKEN_CHANNEL + 1)
#define WAIT_CHANNEL  (DEAD_CHANNEL + 1)

struct consume_link {
	struct broker_link *broker_link;
	struct consumer *consumer;    /* borrowed */
	struct token_channel *tokens; /* borrowed; NULL: none */
	struct backlog_probe probe;
	struct backlog_probe dead_probe; /* of the dead-letter queue */
	struct wait_probe wait_probe;
	bool has_dead_letters, was_consuming;
	bool is_up, is_closed;
	bool is_type_asked; /* for the consumer, and not answered */
	enum queue_durability logged_durability;
	const char *pool; /* borrowed */
	uint64_t ups;     /* how often it was opened */
};

/* On the probe's channel, because the broker closes it. */
static void pass_type(struct consume_link *consume_link, mtime now)
{
	if (!consumer_wants_type(consume_link->consumer)) {
		consume_link->is_type_asked = false;
		return;
	}
	if (!consume_link->is_type_asked)
		backlog_probe_ask_type(&consume_link->probe, now);
	consume_link->is_type_asked = backlog_probe_is_asking_type(&consume_link->probe);
	if (!consume_link->is_type_asked)
		consumer_set_type(consume_link->consumer, consume_link->probe.type, now);
}

static void on_up(void *ctx, struct connection *connection)
{
	struct consume_link *consume_link = ctx;

	consume_link->is_up = true;
	consume_link->ups++;
	consumer_up(consume_link->consumer, connection);
	if (consume_link->tokens)
		token_channel_up(consume_link->tokens, connection);
	backlog_probe_up(&consume_link->probe, connection, PROBE_CHANNEL, clock_now());
	if (consume_link->has_dead_letters)
		backlog_probe_up(&consume_link->dead_probe, connection, DEAD_CHANNEL, clock_now());
	wait_probe_up(&consume_link->wait_probe, connection, WAIT_CHANNEL, clock_now());
}

static void on_down(void *ctx, bool by_error)
{
	struct consume_link *consume_link = ctx;
	struct text text;
	uint16_t code = broker_link_close_reason(consume_link->broker_link, &text);

	consume_link->is_up = false;
	if (by_error)
		consumer_on_connection_closed(consume_link->consumer, code, text);
	consumer_down(consume_link->consumer, clock_now());
	if (consume_link->tokens)
		token_channel_down(consume_link->tokens);
	backlog_probe_down(&consume_link->probe);
	backlog_probe_down(&consume_link->dead_probe);
	wait_probe_down(&consume_link->wait_probe);
}

/* Once for each finding. The queue is consumed all the same: nothing is lost before the broker
 * restarts, and for some that is enough. */
static void log_durability(struct consume_link *consume_link)
{
	const struct backlog_probe *probe = &consume_link->probe;
	bool is_transient = probe->durability == QUEUE_TRANSIENT;

	if (consume_link->logged_durability == probe->durability)
		return;
	consume_link->logged_durability = probe->durability;
	if (probe->durability != QUEUE_DURABLE)
		log_line(is_transient ? LOG_WARN : LOG_INFO,
			(struct log_origin){.pool = consume_link->pool, .slot = -1},
			is_transient
				? "queue \"%.*s\" is not durable: when the broker restarts, the "
				  "queue and its messages are lost, also those of tasks in hand "
				  "(declare a durable queue, and move the messages there: "
				  "docs/reliability.md)"
				: "whether queue \"%.*s\" is durable is unknown: only a user with the "
				  "right to configure it can find out (rabbitmqctl list_queues name "
				  "type durable policy)",
			TEXT_ARGS(probe->queue));
}

static void on_probe_event(
	struct consume_link *consume_link, const struct amqp_event *event, mtime now)
{
	struct backlog_probe *probe = &consume_link->probe;
	bool was_asking = backlog_probe_awaits_durability(probe);

	backlog_probe_on_event(probe, event, now);
	if (was_asking && !probe->is_durability_wanted)
		log_durability(consume_link);
}

static void on_event(void *ctx, const struct amqp_event *event)
{
	struct consume_link *consume_link = ctx;

	if (event->channel == PROBE_CHANNEL)
		on_probe_event(consume_link, event, clock_now());
	else if (event->channel == DEAD_CHANNEL)
		backlog_probe_on_event(&consume_link->dead_probe, event, clock_now());
	else if (event->channel == WAIT_CHANNEL)
		wait_probe_on_event(&consume_link->wait_probe, event, clock_now());
	else if (event->channel == TOKEN_CHANNEL)
		token_channel_on_event(consume_link->tokens, event, clock_boot());
	else if (event->channel != 0)
		consumer_on_event(consume_link->consumer, event, clock_now());
}

static uint8_t *on_memory(void *ctx, uint16_t channel, bool is_return, size_t len, void **ret_owner)
{
	struct consume_link *consume_link = ctx;

	(void)channel;
	(void)is_return;
	return consumer_content_memory(consume_link->consumer, len, ret_owner);
}

static void on_dropped(void *ctx, void *owner)
{
	(void)ctx;
	delivery_free(owner);
}

static void on_end(void *ctx, const char *why)
{
	struct consume_link *consume_link = ctx;

	(void)why;
	consume_link->is_closed = true;
}

static const struct broker_link_handler handler = {
	.on_up = on_up,
	.on_down = on_down,
	.on_event = on_event,
	.content_memory = on_memory,
	.content_dropped = on_dropped,
	.on_end = on_end,
};

struct consume_link *consume_link_new(struct ev_loop *loop, const struct broker_link_config *shared,
	const char *pool, struct text queue, struct text dead_letters, struct consumer *consumer,
	struct token_channel *tokens)
{
	struct broker_link_config config = *shared;
	struct consume_link *consume_link = calloc(1, sizeof *consume_link);

	if (!consume_link)
		return NULL;
	consume_link->consumer = consumer;
	consume_link->pool = pool;
	consume_link->logged_durability = QUEUE_DURABLE; /* which is no news */
	consume_link->tokens = tokens;
	backlog_probe_init(&consume_link->probe, queue);
	backlog_probe_init(&consume_link->dead_probe, dead_letters);
	wait_probe_init(&consume_link->wait_probe, queue);
	consume_link->has_dead_letters = dead_letters.len > 0;
	config.name = "consume";
	config.pool = pool;
	consume_link->broker_link = broker_link_new(loop, &config, &handler, consume_link);
	if (consume_link->broker_link)
		return consume_link;
	free(consume_link);
	return NULL;
}

void consume_link_free(struct consume_link *consume_link)
{
	if (!consume_link)
		return;
	broker_link_free(consume_link->broker_link);
	free(consume_link);
}

mtime consume_link_deadline(const struct consume_link *consume_link)
{
	mtime deadline = mtime_min(backlog_probe_deadline(&consume_link->probe),
		backlog_probe_deadline(&consume_link->dead_probe));

	return mtime_min(deadline, wait_probe_deadline(&consume_link->wait_probe));
}

/* A consumer begins after the dead-letter queue was declared. It does not notice if that queue is
 * deleted later: only a change is a hint, or each request would close a channel. */
static void pass_hints(struct consume_link *consume_link, mtime now)
{
	bool is_consuming = consumer_is_consuming(consume_link->consumer);

	if (is_consuming)
		backlog_probe_hint(&consume_link->probe, now);
	if (is_consuming && !consume_link->was_consuming)
		backlog_probe_hint(&consume_link->dead_probe, now);
	consume_link->was_consuming = is_consuming;
}

void consume_link_tick(struct consume_link *consume_link, mtime now)
{
	pass_hints(consume_link, now);
	pass_type(consume_link, now);
	backlog_probe_tick(&consume_link->probe, now);
	backlog_probe_tick(&consume_link->dead_probe, now);
	wait_probe_tick(&consume_link->wait_probe, now);
}

void consume_link_hint_waits(struct consume_link *consume_link, uint32_t steps)
{
	wait_probe_hint(&consume_link->wait_probe, steps);
}

static const struct backlog *known(const struct backlog_probe *probe)
{
	return probe->backlog.at == MTIME_NEVER ? NULL : &probe->backlog;
}

const struct backlog *consume_link_backlog(const struct consume_link *consume_link)
{
	return known(&consume_link->probe);
}

const struct backlog *consume_link_dead_letters(const struct consume_link *consume_link)
{
	return known(&consume_link->dead_probe);
}

const struct wait_probe *consume_link_waits(const struct consume_link *consume_link)
{
	const struct wait_probe *probe = &consume_link->wait_probe;

	return probe->known_at == MTIME_NEVER ? NULL : probe;
}

enum queue_type consume_link_queue_type(const struct consume_link *consume_link)
{
	return consume_link->probe.type;
}

enum queue_durability consume_link_queue_durability(const struct consume_link *consume_link)
{
	return consume_link->probe.durability;
}

void consume_link_flush(struct consume_link *consume_link)
{
	broker_link_flush(consume_link->broker_link);
}

void consume_link_close(struct consume_link *consume_link)
{
	broker_link_close(consume_link->broker_link);
}

bool consume_link_is_closed(const struct consume_link *consume_link)
{
	return consume_link->is_closed;
}

struct link_facts consume_link_facts(const struct consume_link *consume_link)
{
	return (struct link_facts){.is_up = consume_link->is_up,
		.reconnects = consume_link->ups > 0 ? consume_link->ups - 1 : 0,
		.failure = broker_link_failure(consume_link->broker_link),
		.failure_kind = broker_link_failure_kind_text(consume_link->broker_link)};
}
