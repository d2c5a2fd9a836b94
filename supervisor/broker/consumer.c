/* A request of the pool that comes while an answer of the broker is awaited is stored, and pursue()
 * applies it when the channel is at rest. So one answer at a time is awaited, in any order of
 * requests and events. */
#include "broker/consumer.h"
#include "base/backoff.h"
#include "broker/queue/other_consumers.h"
#include "broker/queue/return_limit.h"
#include "broker/subscriptions.h"
#include "broker/unacked_limit.h"

#include "base/crash_point.h"
#include "message/task.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define WAIT_FIRST (500 * MTIME_MS)
/* Short, because tasks should flow soon after an operator declared the missing queue. */
#define WAIT_LAST (4 * MTIME_SECOND)

/* After the broker delivered more than it was asked for. */
#define REFUSED_FIRST (500 * MTIME_MS)
#define REFUSED_LAST  MTIME_MINUTE
/* After an honest broker's messages became large: the next window fits them. */
#define NARROWER_WAIT (500 * MTIME_MS)

#define CONSUMER_STATES(X)                                                                         \
	X(OFFLINE) /* no connection */                                                             \
	X(WAITING) /* until retry_at; the channel may be open or not */                            \
	X(OPENING)                                                                                 \
	X(DECLARING)                                                                               \
	X(AT_REST)    /* the queues are declared, no answer is awaited */                          \
	X(COUNTING)   /* ordered: a passive declare is sent, for the number of consumers */        \
	X(STARTING)   /* basic.consume is sent */                                                  \
	X(CANCELLING) /* basic.cancel is sent */                                                   \
	X(BARRIER)    /* synchronous commands: their answer shows that earlier acks arrived */     \
	X(CLOSING)                                                                                 \
	X(REFUSING) /* closed for what the broker did: it will be opened again */                  \
	X(LEFT)     /* closed as requested, until the next SOURCE_CONSUME */                       \
	X(ENDED)    /* closed as requested, for good */

enum consumer_state {
#define X(state) state,
	CONSUMER_STATES(X)
#undef X
};

/* What only an ordered consumer needs. */
struct ordered {
	bool is_alone;        /* in this epoch the queue had no consumer */
	bool is_active;       /* in this epoch the pool was proven to be the active one */
	uint16_t last_window; /* with which it consumed last; 0: it has not */
	struct other_consumers others;
	struct return_limit returns;
	size_t overfull_memory; /* the pool's `memory` when too many bytes were in hand; 0: never */
};

struct consumer {
	const struct consumer_config *config; /* borrowed */
	const struct channel_log *log;        /* borrowed */
	struct pool *pool;                    /* borrowed */
	struct connection *connection;        /* borrowed, NULL: offline */
	enum consumer_state state;
	enum source_request request;
	uint16_t requested_window;
	struct subscriptions subscriptions;
	uint32_t epoch;
	bool is_announced; /* the pool got SOURCE_UP for this epoch */
	bool has_settled;  /* acked or rejected something for good in this epoch */
	bool is_cancelled; /* the broker cancelled a subscription: check the queue first */
	bool wants_type;   /* it consumes when it knows the type of the queue */
	bool knows_type;   /* since the channel was opened, or its consumer cancelled */
	struct topology topology;
	struct queue_probe *probe; /* owned; NULL: neither ordered nor with queue arguments */
	struct ordered ordered;
	struct unacked_limit limit;
	struct backoff backoff;
	struct backoff refused; /* the wait after the broker delivered too much */
	mtime refused_wait;
	mtime consuming_since; /* in this epoch; it matters while is_announced */
	mtime retry_at;        /* MTIME_NEVER: no wait */
};

static bool add_probe(struct consumer *consumer)
{
	consumer->probe = malloc(sizeof *consumer->probe);
	if (!consumer->probe)
		return false;
	topology_set_probe(&consumer->topology, consumer->probe, consumer->config->is_ordered);
	return true;
}

struct consumer *consumer_new(const struct consumer_config *config, const struct channel_log *log)
{
	struct consumer *consumer = calloc(1, sizeof *consumer);

	if (!consumer)
		return NULL;
	consumer->config = config;
	consumer->log = log;
	consumer->request = SOURCE_REST;
	consumer->retry_at = MTIME_NEVER;
	topology_init(&consumer->topology, config->queue, config->dead_letter, config->declare,
		&config->retry);
	topology_set_settings(&consumer->topology, &config->settings);
	backoff_init(&consumer->backoff, WAIT_FIRST, WAIT_LAST, config->seed);
	other_consumers_init(&consumer->ordered.others, config->seed);
	backoff_init(&consumer->refused, REFUSED_FIRST, REFUSED_LAST, config->seed);
	if ((config->is_ordered || topology_has_arguments(&consumer->topology)) &&
		!add_probe(consumer)) {
		free(consumer);
		return NULL;
	}
	return consumer;
}

void consumer_attach(struct consumer *consumer, struct pool *pool)
{
	consumer->pool = pool;
}

void consumer_free(struct consumer *consumer)
{
	if (consumer)
		free(consumer->probe);
	free(consumer);
}

/* ---------- events for the pool ---------- */

static void emit(struct consumer *consumer, mtime now, enum event_kind kind)
{
	uint32_t window = subscriptions_window(&consumer->subscriptions);
	uint32_t returns_max = consumer->config->is_ordered ? return_limit_max(consumer->probe) : 0;
	struct event event = {kind,
		.source = {.epoch = consumer->epoch, .window = window, .returns_max = returns_max}};

	pool_step(consumer->pool, now, &event);
}

static void announce_down(struct consumer *consumer, mtime now)
{
	if (!consumer->is_announced)
		return;
	consumer->is_announced = false;
	emit(consumer, now, SOURCE_DOWN);
}

/* ---------- at rest ---------- */

/* Without a single active consumer the barrier's consumers would get messages, out of order. */
static bool has_barrier(const struct consumer *consumer)
{
	return !consumer->config->is_ordered ||
	       topology_order(&consumer->topology) == QUEUE_ORDER_SINGLE;
}

/* Acks and rejections that are sent just before a channel is closed may be lost, and their tasks
 * would run again. */
static void pass_barrier(struct consumer *consumer)
{
	uint16_t channel = consumer->config->channel;

	if (consumer->has_settled && has_barrier(consumer) &&
		subscriptions_synchronize(&consumer->subscriptions, consumer->connection, channel,
			consumer->config->queue)) {
		consumer->state = BARRIER;
		return;
	}
	channel_close(consumer->connection, channel);
	consumer->state = CLOSING;
}

static void wait_and_retry(struct consumer *consumer, mtime now)
{
	consumer->state = WAITING;
	consumer->retry_at = mtime_after(now, backoff_next(&consumer->backoff));
}

static void narrow(struct consumer *consumer)
{
	subscriptions_narrow(
		&consumer->subscriptions, consumer->connection, consumer->config->channel);
	consumer->state = CANCELLING;
}

static bool must_know_type(const struct consumer *consumer)
{
	return consumer->config->is_type_checked && !consumer->knows_type &&
	       !topology_has_quorum_queue(&consumer->topology);
}

static void pursue_consuming(struct consumer *consumer, mtime now)
{
	uint32_t window = subscriptions_window(&consumer->subscriptions);
	bool is_full = consumer->subscriptions.count == SUBSCRIPTIONS_MAX;

	if (consumer->is_cancelled)
		wait_and_retry(consumer, now);
	else if (must_know_type(consumer))
		consumer->wants_type = true;
	else if (window > consumer->requested_window ||
		 (window < consumer->requested_window && is_full))
		narrow(consumer);
	else if (window < consumer->requested_window) {
		subscriptions_widen(&consumer->subscriptions, consumer->connection,
			consumer->config->channel, consumer->config->queue,
			consumer->requested_window);
		consumer->state = STARTING;
	}
}

/* ---------- at rest, ordered ---------- */

static void count_consumers(struct consumer *consumer, mtime now)
{
	struct amqp_queue look = {.name = consumer->config->queue, .passive = true};

	other_consumers_look(&consumer->ordered.others, now);
	consumer->state = COUNTING;
	channel_declare_queue(consumer->connection, consumer->config->channel, &look);
}

bool consumer_wants_token(const struct consumer *consumer)
{
	return consumer->config->has_token && consumer->state == AT_REST &&
	       consumer->request == SOURCE_CONSUME && consumer->subscriptions.count == 0 &&
	       consumer->ordered.is_alone && !consumer->ordered.is_active;
}

static void start_ordered(struct consumer *consumer, mtime now)
{
	const struct consumer_config *config = consumer->config;
	struct return_limit *returns = &consumer->ordered.returns;

	if (config->is_return_free &&
		return_limit_loses(returns, consumer->probe, config->queue, consumer->log)) {
		wait_and_retry(consumer, now);
	} else if (!consumer->ordered.is_alone) {
		count_consumers(consumer, now);
	} else if (!consumer_wants_token(consumer)) {
		if (config->is_return_free)
			return_limit_warn_of_default(returns, consumer->probe,
				topology_order(&consumer->topology),
				connection_peer_version(consumer->connection), config->queue,
				consumer->log);
		subscriptions_widen(&consumer->subscriptions, consumer->connection, config->channel,
			config->queue, consumer->requested_window);
		consumer->state = STARTING;
	}
}

static void pursue_ordered(struct consumer *consumer, mtime now)
{
	if (consumer->request == SOURCE_LEAVE || consumer->request == SOURCE_CLOSE)
		pass_barrier(consumer);
	else if (consumer->request == SOURCE_CONSUME && consumer->subscriptions.count == 0)
		start_ordered(consumer, now);
}

/* The queue has no consumer, so all that comes back is among its ready messages. A smaller window
 * than the last one would break their order at the next loss, unless it can hold all of them. */
static void keep_window(struct consumer *consumer, uint32_t ready)
{
	uint16_t last = consumer->ordered.last_window;

	if (last > consumer->requested_window && ready > consumer->requested_window)
		consumer->requested_window = last;
	consumer->ordered.last_window = consumer->requested_window;
}

static void on_counted(struct consumer *consumer, const struct amqp_event *event, mtime now)
{
	struct other_consumers *others = &consumer->ordered.others;

	consumer->state = AT_REST;
	if (event->consumers > 0) {
		consumer->retry_at = other_consumers_found(others, event->consumers,
			topology_order(&consumer->topology), consumer->config->queue, consumer->log,
			now);
		return;
	}
	consumer->ordered.is_alone = true;
	other_consumers_gone(others);
	keep_window(consumer, event->messages);
	pursue_ordered(consumer, now);
}

static void pursue(struct consumer *consumer, mtime now)
{
	if (consumer->state != AT_REST)
		return;
	if (consumer->config->is_ordered)
		pursue_ordered(consumer, now);
	else if (consumer->request == SOURCE_CONSUME)
		pursue_consuming(consumer, now);
	else if (consumer->subscriptions.count > 0)
		narrow(consumer);
	else if (consumer->request == SOURCE_CLOSE)
		pass_barrier(consumer);
	else if (consumer->is_announced)
		emit(consumer, now, SOURCE_RESTED);
}

static void rest(struct consumer *consumer, mtime now)
{
	consumer->state = AT_REST;
	pursue(consumer, now);
}

void consumer_token_proven(struct consumer *consumer, mtime now)
{
	if (!consumer_wants_token(consumer))
		return;
	consumer->ordered.is_active = true;
	pursue(consumer, now);
}

/* ---------- the type of the queue ---------- */

bool consumer_wants_type(const struct consumer *consumer)
{
	return consumer->wants_type;
}

/* The queue may be another one by then. */
static void forget_type(struct consumer *consumer)
{
	consumer->wants_type = consumer->knows_type = false;
}

void consumer_set_type(struct consumer *consumer, enum queue_type type, mtime now)
{
	consumer->wants_type = false;
	if (consumer->state != AT_REST)
		return;
	consumer->knows_type = type != QUEUE_TYPE_STREAM;
	if (consumer->knows_type) {
		pursue(consumer, now);
		return;
	}
	topology_refuse_stream(&consumer->topology, consumer->log);
	wait_and_retry(consumer, now);
}

/* ---------- connection and channel, up and down ---------- */

/* The window does not become smaller, so it would again bring more bytes than the limit. */
bool consumer_is_overfull(const struct consumer *consumer)
{
	const struct ordered *ordered = &consumer->ordered;

	return ordered->overfull_memory > 0 &&
	       pool_unacked(consumer->pool).memory <= ordered->overfull_memory;
}

bool consumer_is_next(const struct consumer *consumer)
{
	return consumer->config->is_ordered &&
	       other_consumers_are_looked_for(&consumer->ordered.others);
}

bool consumer_waits_for_others(const struct consumer *consumer)
{
	return consumer->ordered.others.is_logged;
}

static void reopen_channel(struct consumer *consumer, mtime now)
{
	if (consumer->request == SOURCE_CLOSE || consumer->request == SOURCE_LEAVE) {
		consumer->state = consumer->request == SOURCE_CLOSE ? ENDED : LEFT;
		return;
	}
	if (consumer_is_overfull(consumer)) {
		consumer->state = WAITING;
		consumer->retry_at = mtime_after(now, WAIT_LAST);
		return;
	}
	forget_type(consumer);
	consumer->epoch++;
	consumer->has_settled = false;
	consumer->ordered.is_alone = consumer->ordered.is_active = false;
	other_consumers_stop(&consumer->ordered.others);
	consumer->ordered.overfull_memory = 0;
	subscriptions_clear(&consumer->subscriptions);
	unacked_limit_clear(&consumer->limit);
	consumer->state = OPENING;
	consumer->retry_at = MTIME_NEVER;
	channel_open(consumer->connection, consumer->config->channel);
}

void consumer_up(struct consumer *consumer, struct connection *connection)
{
	consumer->connection = connection;
	topology_on_connected(&consumer->topology);
	reopen_channel(consumer, 0);
}

void consumer_on_connection_closed(struct consumer *consumer, uint16_t code, struct text reason)
{
	topology_connection_closed(&consumer->topology, code, reason, consumer->log);
}

void consumer_down(struct consumer *consumer, mtime now)
{
	consumer->connection = NULL;
	consumer->retry_at = MTIME_NEVER;
	consumer->state = OFFLINE;
	announce_down(consumer, now);
}

static void declare(struct consumer *consumer, mtime now)
{
	consumer->state = DECLARING;
	consumer->is_cancelled = false;
	if (topology_begin(&consumer->topology, consumer->connection, consumer->config->channel,
		    consumer->is_announced))
		rest(consumer, now);
}

static void on_close_ok(struct consumer *consumer, mtime now)
{
	if (consumer->request == SOURCE_CLOSE) {
		consumer->state = ENDED;
	} else if (consumer->state == REFUSING) {
		consumer->state = WAITING;
		consumer->retry_at = mtime_after(now, consumer->refused_wait);
	} else {
		consumer->state = LEFT;
		if (consumer->request == SOURCE_CONSUME)
			consumer->retry_at = 0;
	}
	announce_down(consumer, now);
}

static void on_channel_closed(struct consumer *consumer, const struct amqp_event *event, mtime now)
{
	announce_down(consumer, now);
	if (consumer->request == SOURCE_CLOSE) /* for example the queue is gone */
		consumer->state = ENDED;
	else if (topology_closed(&consumer->topology, event->code, event->text, consumer->log))
		reopen_channel(consumer, now);
	else
		wait_and_retry(consumer, now);
}

/* ---------- consumers ---------- */

static void on_consume_ok(struct consumer *consumer, mtime now)
{
	if (consumer->state == BARRIER)
		pass_barrier(consumer);
	if (consumer->state != STARTING)
		return;
	backoff_reset(&consumer->backoff);
	channel_log_line(consumer->log, consumer->is_announced ? LOG_DEBUG : LOG_INFO,
		"consuming queue \"%.*s\", %u at a time", TEXT_ARGS(consumer->config->queue),
		subscriptions_window(&consumer->subscriptions));
	topology_on_consuming(&consumer->topology, consumer->log);
	if (!consumer->is_announced) {
		consumer->is_announced = true;
		consumer->consuming_since = now;
		emit(consumer, now, SOURCE_UP);
	}
	rest(consumer, now);
}

/* False: no consumer has that tag. */
static bool drop_subscription(struct consumer *consumer, struct text tag)
{
	uint32_t before = subscriptions_window(&consumer->subscriptions);
	struct pool_unacked unacked;

	if (!subscriptions_drop(&consumer->subscriptions, tag))
		return false;
	unacked = pool_unacked(consumer->pool);
	unacked_limit_departed(&consumer->limit,
		before - subscriptions_window(&consumer->subscriptions), &unacked);
	return true;
}

/* What the consumer holds must go back before anything later is delivered. */
static void close_cancelled(struct consumer *consumer, mtime now)
{
	if (consumer->state != AT_REST)
		return;
	channel_close(consumer->connection, consumer->config->channel);
	consumer->state = REFUSING;
	consumer->refused_wait = 0;
	announce_down(consumer, now);
}

/* Not ordered: the channel stays open, and with it the tags of running tasks: their acks still
 * count. */
static void on_cancelled(struct consumer *consumer, const struct amqp_event *event, mtime now)
{
	if (!drop_subscription(consumer, event->consumer))
		return;
	forget_type(consumer);
	if (!consumer->is_cancelled)
		channel_log_line(consumer->log, LOG_WARN,
			"the broker cancelled the consumer of queue \"%.*s\" (deleted, or its node is "
			"gone); looking for it again",
			TEXT_ARGS(consumer->config->queue));
	if (consumer->config->is_ordered) {
		close_cancelled(consumer, now);
		return;
	}
	consumer->is_cancelled = true;
	if (consumer->is_announced)
		emit(consumer, now, SOURCE_CANCELLED);
	pursue(consumer, now);
}

/* ---------- deliveries ---------- */

#define ROUTE_SPACE (2 * (size_t)SHORT_STRING_MAX) /* exchange and routing key */

static bool keeps_route(const struct consumer_config *config)
{
	return config->keep_route || config->key.kind == KEY_ROUTING_KEY ||
	       throttle_keys_have_route(&config->throttles);
}

uint8_t *consumer_content_memory(struct consumer *consumer, size_t len, void **ret_owner)
{
	size_t route = keeps_route(consumer->config) ? ROUTE_SPACE : 0;
	struct delivery *delivery =
		delivery_new(len + route + session_key_space(&consumer->config->key));

	if (!delivery)
		return NULL;
	*ret_owner = delivery;
	return delivery->bytes;
}

static void close_for(struct consumer *consumer, const char *facts, mtime now)
{
	char text[160];

	snprintf(text, sizeof text, "PRECONDITION_FAILED - %s", facts);
	channel_close_for(
		consumer->connection, consumer->config->channel, CODE_PRECONDITION_FAILED, text);
	consumer->state = REFUSING;
	announce_down(consumer, now);
}

/* The pool has learned how large these messages are, and asks for a window that fits them. All that
 * is unacked goes back with the channel. If there were too many, the wait grows each time that this
 * happens again within a minute. */
static void refuse_channel(
	struct consumer *consumer, bool is_too_many, const char *facts, mtime now)
{
	if (now - consumer->consuming_since >= REFUSED_LAST)
		backoff_reset(&consumer->refused);
	consumer->refused_wait = is_too_many ? backoff_next(&consumer->refused) : NARROWER_WAIT;
	channel_log_line(consumer->log, is_too_many ? LOG_ERROR : LOG_WARN,
		"%s queue \"%.*s\": %s; its channel is closed with 406, and the pool consumes again "
		"in %.1f s",
		is_too_many ? "the broker delivered more than it was asked for of"
			    : "too many bytes are in hand of",
		TEXT_ARGS(consumer->config->queue), facts,
		(double)consumer->refused_wait / MTIME_SECOND);
	close_for(consumer, facts, now);
}

/* Ordered: a narrower window would break the order when this channel's deliveries come back. So it
 * stays closed until the memory is larger. */
static void refuse_overfull(
	struct consumer *consumer, const char *facts, const struct pool_unacked *unacked, mtime now)
{
	consumer->ordered.overfull_memory = unacked->memory;
	channel_log_line(consumer->log, LOG_ERROR,
		"too many bytes are in hand of queue \"%.*s\": %s; its channel is closed and stays "
		"so, because a narrower window would break the order of sessions (set memory to "
		"at least %zu)",
		TEXT_ARGS(consumer->config->queue), facts, unacked->bytes);
	close_for(consumer, facts, now);
}

static void check_limit(struct consumer *consumer, mtime now)
{
	struct pool_unacked unacked = pool_unacked(consumer->pool);
	uint32_t window = subscriptions_window(&consumer->subscriptions);
	char facts[128];
	enum unacked_verdict verdict = unacked_limit_check(
		&consumer->limit, window, consumer->config->body_limit, &unacked);

	if (verdict == UNACKED_FITS)
		return;
	snprintf(facts, sizeof facts,
		"%u messages of %zu bytes are unacked, at a prefetch of %u and a memory of %zu",
		unacked.count, unacked.bytes, window, unacked.memory);
	if (verdict == UNACKED_TOO_LARGE && consumer->config->is_ordered)
		refuse_overfull(consumer, facts, &unacked, now);
	else
		refuse_channel(consumer, verdict == UNACKED_TOO_MANY, facts, now);
}

/* If the memory has space for it: throttles may have changed since. */
static void keep_route(
	struct delivery *delivery, const struct amqp_event *amqp, const struct key_source *key)
{
	size_t content = delivery->properties.len + delivery->body.len;
	uint8_t *end = delivery->bytes + content;

	if (delivery->size < content + ROUTE_SPACE + session_key_space(key))
		return;
	delivery->exchange = text_copy(end, amqp->exchange);
	delivery->routing_key = text_copy(end + amqp->exchange.len, amqp->routing_key);
}

/* The content's memory is the delivery, which moves to the pool. */
static void on_delivery(struct consumer *consumer, const struct amqp_event *amqp, mtime now)
{
	const struct consumer_config *config = consumer->config;
	struct delivery *delivery = amqp->content.owner;
	struct event event = {DELIVERY, .source = {.epoch = consumer->epoch, .delivery = delivery}};

	if (consumer->state == BARRIER || consumer->state == CLOSING ||
		consumer->state == REFUSING) {
		delivery_free(delivery); /* the broker requeues it when the channel closes */
		return;
	}
	delivery->tag = amqp->tag;
	delivery->redelivered = amqp->redelivered;
	delivery->properties = amqp->content.properties;
	delivery->body = amqp->content.body;
	keep_route(delivery, amqp, &config->key);
	task_read_facts(delivery, &(struct task_facts_options){.body_limit = config->body_limit,
					  .key = &config->key,
					  .throttles = &config->throttles});
	pool_step(consumer->pool, now, &event);
	CRASH_POINT("delivery-taken");
	check_limit(consumer, now);
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
	case AMQP_EXCHANGE_DECLARED:
	case AMQP_QUEUE_BOUND:
	case AMQP_QUEUE_DECLARED:
		if (consumer->state == COUNTING)
			on_counted(consumer, event, now);
		else if (consumer->state == DECLARING &&
			 topology_next(&consumer->topology, consumer->connection,
				 consumer->config->channel))
			rest(consumer, now);
		break;
	case AMQP_CONSUME_OK:
		on_consume_ok(consumer, now);
		break;
	case AMQP_CANCEL_OK:
		drop_subscription(consumer, event->consumer);
		if (consumer->state == CANCELLING)
			rest(consumer, now);
		break;
	case AMQP_CANCELLED:
		on_cancelled(consumer, event, now);
		break;
	case AMQP_CHANNEL_CLOSED:
		on_channel_closed(consumer, event, now);
		break;
	case AMQP_CHANNEL_CLOSE_OK:
		on_close_ok(consumer, now);
		break;
	default: /* basic.qos-ok, and events of the connection */
		break;
	}
}

/* ---------- the pool's effects ---------- */

void consumer_request(struct consumer *consumer, enum source_request request, uint32_t window)
{
	assert(!consumer->config->is_ordered || request != SOURCE_REST);
	consumer->request = request;
	if (request == SOURCE_CONSUME)
		consumer->requested_window = (uint16_t)window;
	/* An effect never calls back: the tick of this turn applies the request. */
	if (consumer->state == AT_REST || (consumer->state == LEFT && request != SOURCE_LEAVE) ||
		(consumer->state == WAITING && request != SOURCE_CONSUME))
		consumer->retry_at = 0;
}

void consumer_ack(struct consumer *consumer, uint64_t tag, bool multiple)
{
	if (!consumer->is_announced)
		return;
	consumer->has_settled = true;
	channel_ack(consumer->connection, consumer->config->channel, tag, multiple);
	CRASH_POINT("ack-appended");
}

void consumer_reject(struct consumer *consumer, uint64_t tag, enum reject how)
{
	if (!consumer->is_announced)
		return;
	assert(!consumer->config->is_ordered || how != REJECT_REQUEUE);
	if (how == REJECT_REQUEUE) { /* it also goes back with the channel */
		channel_nack(consumer->connection, consumer->config->channel, tag);
		return;
	}
	consumer->has_settled = true;
	channel_reject(consumer->connection, consumer->config->channel, tag);
}

/* ---------- time ---------- */

mtime consumer_deadline(const struct consumer *consumer)
{
	return consumer->retry_at;
}

void consumer_tick(struct consumer *consumer, mtime now)
{
	if (now < consumer->retry_at)
		return;
	consumer->retry_at = MTIME_NEVER;
	if (consumer->state != WAITING && consumer->state != LEFT)
		pursue(consumer, now);
	else if (!channel_is_open(consumer->connection, consumer->config->channel))
		reopen_channel(consumer, now);
	else if (consumer->request == SOURCE_CONSUME)
		declare(consumer, now);
	else /* a passive declare that fails costs the channel and all its unacked deliveries */
		rest(consumer, now);
}

enum queue_order consumer_order(const struct consumer *consumer)
{
	return topology_order(&consumer->topology);
}

const struct channel_refusal *consumer_refusal(const struct consumer *consumer)
{
	return &consumer->topology.refusal;
}

const struct channel_refusal *consumer_difference(const struct consumer *consumer)
{
	return &consumer->topology.difference;
}

const struct channel_refusal *consumer_refused_binding(const struct consumer *consumer)
{
	return &consumer->topology.binding;
}

bool consumer_has_quorum_queue(const struct consumer *consumer)
{
	return topology_has_quorum_queue(&consumer->topology);
}

/* A subscription counts as live when it is requested, the first one when it is granted. */
bool consumer_is_consuming(const struct consumer *consumer)
{
	unsigned requested = consumer->state == STARTING ? 1 : 0;

	return consumer->is_announced && !consumer->is_cancelled &&
	       consumer->request == SOURCE_CONSUME && consumer->subscriptions.count > requested;
}
