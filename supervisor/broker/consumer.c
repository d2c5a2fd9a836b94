/* A wish is never carried out in the middle of something: it is noted, and pursue() looks at it
 * when the channel has come to rest. So every wait for the broker has one answer
 * to wait for, in whatever order an operator, a worker and the broker change their minds. */
#include "broker/consumer_state.h"

#include "base/crash_point.h"
#include "broker/intake.h"

#include <stdlib.h>

#define WAIT_FIRST (500 * MTIME_MS)
/* A missing queue is looked for often: people want their tasks back soon after they made it. */
#define WAIT_LAST (4 * MTIME_SECOND)

struct consumer *consumer_new(const struct consumer_config *config, const struct notes *notes)
{
	struct consumer *consumer = calloc(1, sizeof *consumer);

	if (!consumer)
		return NULL;
	consumer->config = config;
	consumer->notes = notes;
	consumer->wish = SOURCE_REST;
	consumer->retry_at = MTIME_NEVER;
	topology_init(&consumer->topology, config->queue, config->dead_letter, config->declare,
		&config->retry);
	patience_init(&consumer->patience, WAIT_FIRST, WAIT_LAST, config->seed);
	return consumer;
}

void consumer_attach(struct consumer *consumer, struct pool *pool)
{
	consumer->pool = pool;
}

void consumer_free(struct consumer *consumer)
{
	free(consumer);
}

/* ---------- telling the pool ---------- */

static void tell(struct consumer *consumer, mtime now, enum event_kind kind)
{
	struct event event = {kind, .source = {consumer->config->source, consumer->epoch, NULL}};

	pool_step(consumer->pool, now, &event);
}

static void tell_up(struct consumer *consumer, mtime now)
{
	if (consumer->told_up)
		return;
	consumer->told_up = true;
	tell(consumer, now, SOURCE_UP);
}

static void tell_down(struct consumer *consumer, mtime now)
{
	if (!consumer->told_up)
		return;
	consumer->told_up = false;
	tell(consumer, now, SOURCE_DOWN);
}

/* ---------- what is done at rest ---------- */

/* Acks and rejections sent just before a channel is closed may be lost, and their tasks would be
 * worked again. */
static void pass_barrier(struct consumer *consumer)
{
	uint16_t channel = consumer->config->channel;

	if (consumer->settled && subscriptions_synchronize(&consumer->subscriptions,
					 consumer->connection, channel, consumer->config->queue)) {
		consumer->state = BARRIER;
		return;
	}
	channel_close(consumer->connection, channel);
	consumer->state = CLOSING;
}

static void wait_and_look_again(struct consumer *consumer, mtime now)
{
	consumer->state = WAITING;
	consumer->retry_at = mtime_after(now, patience_next(&consumer->patience));
}

static void widen(struct consumer *consumer)
{
	subscriptions_widen(&consumer->subscriptions, consumer->connection,
		consumer->config->channel, consumer->config->queue, consumer->wished_window);
	consumer->state = STARTING;
}

static void narrow(struct consumer *consumer)
{
	subscriptions_narrow(
		&consumer->subscriptions, consumer->connection, consumer->config->channel);
	consumer->state = CANCELLING;
}

static void pursue_consuming(struct consumer *consumer, mtime now)
{
	uint32_t window = subscriptions_window(&consumer->subscriptions);
	bool is_full = consumer->subscriptions.count == SUBSCRIPTIONS_MAX;

	if (consumer->lost)
		wait_and_look_again(consumer, now);
	else if (window > consumer->wished_window || (window < consumer->wished_window && is_full))
		narrow(consumer);
	else if (window < consumer->wished_window)
		widen(consumer);
}

static void pursue(struct consumer *consumer, mtime now)
{
	if (consumer->state != AT_REST)
		return;
	if (consumer->wish == SOURCE_CONSUME)
		pursue_consuming(consumer, now);
	else if (consumer->subscriptions.count > 0)
		narrow(consumer);
	else if (consumer->wish == SOURCE_CLOSE)
		pass_barrier(consumer);
	else if (consumer->told_up)
		tell(consumer, now, SOURCE_RESTED);
}

static void rest(struct consumer *consumer, mtime now)
{
	consumer->state = AT_REST;
	pursue(consumer, now);
}

/* ---------- connection and channel, up and down ---------- */

static void open_channel(struct consumer *consumer)
{
	consumer->epoch++;
	consumer->settled = false;
	subscriptions_clear(&consumer->subscriptions);
	consumer->state = OPENING;
	consumer->retry_at = MTIME_NEVER;
	channel_open(consumer->connection, consumer->config->channel);
}

void consumer_up(struct consumer *consumer, struct connection *connection, mtime now)
{
	(void)now;
	consumer->connection = connection;
	if (consumer->wish == SOURCE_CLOSE)
		consumer->state = ENDED;
	else
		open_channel(consumer);
}

void consumer_down(struct consumer *consumer, mtime now)
{
	consumer->connection = NULL;
	consumer->retry_at = MTIME_NEVER;
	consumer->state = OFFLINE;
	tell_down(consumer, now);
}

static void declare(struct consumer *consumer, mtime now)
{
	consumer->state = DECLARING;
	consumer->lost = false;
	if (topology_begin(&consumer->topology, consumer->connection, consumer->config->channel,
		    consumer->told_up))
		rest(consumer, now);
}

static void on_declared(struct consumer *consumer, mtime now)
{
	if (consumer->state == DECLARING &&
		topology_next(&consumer->topology, consumer->connection, consumer->config->channel))
		rest(consumer, now);
}

static void on_channel_closed(struct consumer *consumer, const struct amqp_event *event, mtime now)
{
	bool at_once;

	tell_down(consumer, now);
	if (consumer->wish == SOURCE_CLOSE) { /* the barrier's queue is gone, say: no matter */
		consumer->state = ENDED;
		return;
	}
	at_once = topology_closed(&consumer->topology, event->code, event->text, consumer->notes);
	if (at_once)
		open_channel(consumer);
	else
		wait_and_look_again(consumer, now);
}

/* ---------- consumers ---------- */

static void on_consume_ok(struct consumer *consumer, mtime now)
{
	if (consumer->state == BARRIER)
		pass_barrier(consumer);
	if (consumer->state != STARTING)
		return;
	patience_reset(&consumer->patience);
	notes_tell(consumer->notes, consumer->told_up ? LOG_DEBUG : LOG_INFO,
		"consuming queue \"%.*s\", %u at a time", TEXT_ARGS(consumer->config->queue),
		subscriptions_window(&consumer->subscriptions));
	topology_proved(&consumer->topology, consumer->notes);
	tell_up(consumer, now);
	rest(consumer, now);
}

static void on_cancel_ok(struct consumer *consumer, const struct amqp_event *event, mtime now)
{
	subscriptions_drop(&consumer->subscriptions, event->consumer);
	if (consumer->state == CANCELLING)
		rest(consumer, now);
}

/* The channel lives on, and with it the tags of what is being worked on: acks still count. */
static void on_cancelled(struct consumer *consumer, const struct amqp_event *event, mtime now)
{
	if (!subscriptions_drop(&consumer->subscriptions, event->consumer))
		return;
	if (!consumer->lost)
		notes_tell(consumer->notes, LOG_WARN,
			"the broker cancelled the consumer of queue \"%.*s\" (deleted, or its node is "
			"gone); looking for it again",
			TEXT_ARGS(consumer->config->queue));
	consumer->lost = true;
	if (consumer->told_up)
		tell(consumer, now, SOURCE_CANCELLED);
	pursue(consumer, now);
}

/* ---------- deliveries ---------- */

uint8_t *consumer_content_memory(struct consumer *consumer, size_t len, void **ret_owner)
{
	return intake_memory(len, consumer->config->keep_route, ret_owner);
}

static void on_delivery(struct consumer *consumer, const struct amqp_event *amqp, mtime now)
{
	struct event event = {.kind = DELIVERY};

	event.source.source = consumer->config->source;
	event.source.epoch = consumer->epoch;
	event.source.delivery =
		intake_take(amqp, consumer->config->keep_route, consumer->config->body_limit);
	if (consumer->state == BARRIER || consumer->state == CLOSING) {
		delivery_free(event.source.delivery); /* goes back with the channel */
		return;
	}
	pool_step(consumer->pool, now, &event);
	CRASH_POINT("delivery-taken");
}

void consumer_on_event(struct consumer *consumer, const struct amqp_event *event, mtime now)
{
	switch (event->kind) {
	case AMQP_DELIVERY:
		on_delivery(consumer, event, now);
		break;
	case AMQP_CHANNEL_OPENED:
		declare(consumer, now);
		break;
	case AMQP_QUEUE_DECLARED:
		on_declared(consumer, now);
		break;
	case AMQP_CONSUME_OK:
		on_consume_ok(consumer, now);
		break;
	case AMQP_CANCEL_OK:
		on_cancel_ok(consumer, event, now);
		break;
	case AMQP_CANCELLED:
		on_cancelled(consumer, event, now);
		break;
	case AMQP_CHANNEL_CLOSED:
		on_channel_closed(consumer, event, now);
		break;
	case AMQP_CHANNEL_CLOSE_OK:
		consumer->state = ENDED;
		tell_down(consumer, now);
		break;
	default: /* basic.qos-ok, and what belongs to a connection: nothing follows from it here */
		break;
	}
}

/* ---------- the pool's effects ---------- */

void consumer_wish(struct consumer *consumer, enum source_wish wish, uint32_t window)
{
	consumer->wish = wish;
	if (wish == SOURCE_CONSUME)
		consumer->wished_window = (uint16_t)window;
	/* An effect never calls back: the wish is looked at in this turn's tick. */
	if (consumer->state == AT_REST || (consumer->state == WAITING && wish != SOURCE_CONSUME))
		consumer->retry_at = 0;
}

void consumer_ack(struct consumer *consumer, uint64_t tag, bool multiple)
{
	if (!consumer->told_up)
		return;
	consumer->settled = true;
	channel_ack(consumer->connection, consumer->config->channel, tag, multiple);
	CRASH_POINT("ack-appended");
}

void consumer_reject(struct consumer *consumer, uint64_t tag, enum reject how)
{
	if (!consumer->told_up)
		return;
	if (how == REJECT_REQUEUE) { /* goes back with the channel, too */
		channel_nack(consumer->connection, consumer->config->channel, tag, false, true);
		return;
	}
	consumer->settled = true;
	channel_reject(consumer->connection, consumer->config->channel, tag, false);
}

/* ---------- time ---------- */

mtime consumer_deadline(const struct consumer *consumer)
{
	return consumer->retry_at;
}

static bool has_channel(const struct consumer *consumer)
{
	return channel_is_open(consumer->connection, consumer->config->channel);
}

/* A look that fails costs the channel, and with it all that is in hand: who wants to consume no
 * more does not look. */
static void end_wait(struct consumer *consumer, mtime now)
{
	if (has_channel(consumer) && consumer->wish == SOURCE_CONSUME)
		declare(consumer, now);
	else if (has_channel(consumer))
		rest(consumer, now);
	else if (consumer->wish == SOURCE_CLOSE)
		consumer->state = ENDED;
	else
		open_channel(consumer);
}

void consumer_tick(struct consumer *consumer, mtime now)
{
	if (now < consumer->retry_at)
		return;
	consumer->retry_at = MTIME_NEVER;
	if (consumer->state == WAITING)
		end_wait(consumer, now);
	else
		pursue(consumer, now);
}
