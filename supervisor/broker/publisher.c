#include "broker/publisher.h"
#include "base/backoff.h"
#include "broker/channel_renewal.h"
#include "broker/confirm_channel.h"
#include "broker/retry_queues.h"

#include "base/crash_point.h"
#include "message/copy.h"

#include <stdio.h>
#include <stdlib.h>

#define CODE_ACCESS_REFUSED 403

#define WAIT_FIRST  (100 * MTIME_MS)
#define WAIT_LAST   (10 * MTIME_SECOND)
#define WAIT_MAKING MTIME_MINUTE
#define WAIT_REMAKING                                                                              \
	MTIME_SECOND /* so that a queue that vanishes each time causes no busy loop                \
		      */
#define WAIT_APART    (2 * MTIME_SECOND) /* far longer than a publish takes to be confirmed */
#define SCRATCH_LIMIT (1024 * 1024)      /* properties only: far above any frame_max */

enum publisher_state {
	OFFLINE,  /* no connection */
	WAITING,  /* for retry_at, when the channel is opened again */
	RUNNING,  /* channel: how far it is */
	GIVEN_UP, /* out of memory in a publish: the next tick closes the channel */
	ENDED,    /* by publisher_close */
};

struct publisher {
	const struct publisher_config *config; /* borrowed */
	const struct channel_log *log;         /* borrowed */
	struct pool *pool;                     /* borrowed */
	struct connection *connection;         /* borrowed, NULL: offline */
	enum publisher_state state;
	struct confirm_channel channel;
	uint32_t epoch;
	bool keeps_apart; /* a publish may have cost the last connection */
	bool is_making;   /* the queue named made is declared, not answered */
	char made[RETRY_QUEUE_NAME_MAX + 1];
	mtime make_after;  /* the broker closed a channel over a declaration: none before this */
	mtime again_after; /* the same queue is not made again before this */
	struct retry_queues retry_queues;
	bool has_logged_no_right;
	uint64_t wall_s;
	struct buf scratch; /* the properties of the parcel in hand */
	struct backoff backoff;
	struct channel_renewal channel_renewal;
	mtime retry_at; /* MTIME_NEVER: no wait */
};

struct publisher *publisher_new(
	const struct publisher_config *config, const struct channel_log *log)
{
	struct publisher *publisher = calloc(1, sizeof *publisher);

	if (!publisher)
		return NULL;
	publisher->config = config;
	publisher->log = log;
	publisher->retry_at = MTIME_NEVER;
	retry_queues_init(&publisher->retry_queues, &config->retry);
	buf_init(&publisher->scratch, SCRATCH_LIMIT);
	backoff_init(&publisher->backoff, WAIT_FIRST, WAIT_LAST, config->seed);
	channel_renewal_init(&publisher->channel_renewal, config->seed);
	return publisher;
}

void publisher_attach(struct publisher *publisher, struct pool *pool)
{
	publisher->pool = pool;
}

void publisher_free(struct publisher *publisher)
{
	if (publisher)
		buf_release(&publisher->scratch);
	free(publisher);
}

static void emit(struct publisher *publisher, mtime now, struct event event)
{
	event.outbox.epoch = publisher->epoch;
	pool_step(publisher->pool, now, &event);
}

/* The pool gets an event only if it knows of the channel. */
static void lose_channel(
	struct publisher *publisher, enum publisher_state state, enum outbox_loss loss, mtime now)
{
	bool was_up = confirm_channel_is_up(&publisher->channel);

	confirm_channel_down(&publisher->channel);
	publisher->state = state;
	publisher->is_making = false;
	publisher->retry_at = MTIME_NEVER;
	if (state == WAITING)
		publisher->retry_at = mtime_after(now, backoff_next(&publisher->backoff));
	if (was_up)
		emit(publisher, now, (struct event){.kind = OUTBOX_DOWN, .outbox.loss = loss});
}

static void open_channel(struct publisher *publisher)
{
	publisher->state = RUNNING;
	publisher->retry_at = MTIME_NEVER;
	confirm_channel_open(
		&publisher->channel, publisher->connection, publisher->config->channel);
}

void publisher_up(struct publisher *publisher, struct connection *connection, mtime now)
{
	publisher->connection = connection;
	if (publisher->state == ENDED)
		return;
	retry_queues_forget(&publisher->retry_queues);
	if (!publisher->keeps_apart) {
		open_channel(publisher);
		return;
	}
	publisher->state = WAITING;
	publisher->retry_at =
		mtime_after(now, backoff_random_below(&publisher->backoff, WAIT_APART));
}

void publisher_down(struct publisher *publisher, enum outbox_loss loss, mtime now)
{
	publisher->connection = NULL;
	if (publisher->state == ENDED)
		return;
	publisher->keeps_apart = loss != LOSS_CONNECTION;
	lose_channel(publisher, OFFLINE, loss, now);
}

static void on_ready(struct publisher *publisher, mtime now)
{
	publisher->epoch++;
	channel_renewal_forget(&publisher->channel_renewal);
	emit(publisher, now, (struct event){.kind = OUTBOX_UP});
	emit(publisher, now, (struct event){.kind = QUEUE_FOUND});
}

/* Logged once: a worker may ask for many delays, and the next connection has the same answer. */
static void log_no_right(struct publisher *publisher, const struct amqp_event *event)
{
	channel_log_line(publisher->log, publisher->has_logged_no_right ? LOG_DEBUG : LOG_WARN,
		"retry queue \"%s\" does not exist, and the broker does not let us declare it "
		"(%u %.*s): tasks wait in the pool's retry queue with the nearest delay (declare "
		"it as in docs/retries.md, or give the user the right to configure it; logged "
		"once)",
		publisher->made, event->code, TEXT_ARGS(event->text));
	publisher->has_logged_no_right = true;
}

/* The declaration caused it, or a publish behind it. Publish one by one from here on: otherwise
 * both would meet on every new channel, and that publish would never be found. */
static void on_making_refused(
	struct publisher *publisher, const struct amqp_event *event, mtime now)
{
	mtime delay;

	if (event->code == CODE_ACCESS_REFUSED &&
		retry_queue_delay(publisher->config->queue, text_from(publisher->made), &delay)) {
		log_no_right(publisher, event);
		retry_queues_refuse(&publisher->retry_queues, delay, now);
	} else {
		publisher->make_after = mtime_after(now, WAIT_MAKING);
		channel_log_line(publisher->log, LOG_WARN,
			"the broker closed the channel over the declaration of queue \"%s\" (%u "
			"%.*s); its copies wait, their tasks unacked, until the queue exists "
			"(declare it as in docs/retries.md, or give the user the right to "
			"configure it; retrying in a minute)",
			publisher->made, event->code, TEXT_ARGS(event->text));
	}
	lose_channel(publisher, WAITING, LOSS_SHARED, now);
}

static void on_closed(struct publisher *publisher, const struct amqp_event *event, mtime now)
{
	if (publisher->is_making) {
		on_making_refused(publisher, event, now);
		return;
	}
	channel_log_line(publisher->log, LOG_WARN,
		"the broker closed the publishing channel (%u %.*s); reopening it and publishing "
		"the unconfirmed messages again, one by one",
		event->code, TEXT_ARGS(event->text));
	/* After GIVEN_UP a parcel counts as published and is not: it must not be blamed. */
	lose_channel(publisher, WAITING,
		publisher->state == RUNNING ? LOSS_CHANNEL : LOSS_CONNECTION, now);
}

static void on_confirm(struct publisher *publisher, const struct publish_answer *answer, mtime now)
{
	bool is_refused = answer->kind == PUBLISH_REFUSED;
	struct event event = {.kind = is_refused ? REFUSED : CONFIRMED,
		.outbox.seq = answer->number,
		.outbox.multiple = answer->multiple};

	CRASH_POINT("confirm-received");
	backoff_reset(&publisher->backoff);
	channel_renewal_on_answer(&publisher->channel_renewal, is_refused, now);
	emit(publisher, now, event);
	CRASH_POINT("confirm-counted");
}

/* One at a time: copies for another missing queue are published again, and return again. */
static bool may_make(struct publisher *publisher, struct text name, mtime now)
{
	bool is_same = text_is(name, text_from(publisher->made));

	if (publisher->is_making || now < publisher->make_after ||
		(is_same && now < publisher->again_after))
		return false;
	publisher->is_making = true;
	snprintf(publisher->made, sizeof publisher->made, "%.*s", TEXT_ARGS(name));
	return true;
}

static void make_dead_letter_queue(struct publisher *publisher, mtime now)
{
	const struct publisher_config *config = publisher->config;

	if (!may_make(publisher, config->dead_letter, now))
		return;
	channel_log_line(publisher->log, LOG_WARN,
		"queue \"%s\" for dead letters is gone; making it again", publisher->made);
	topology_make(publisher->connection, config->channel, config->dead_letter);
}

static void make_retry_queue(struct publisher *publisher, struct text name, mtime delay, mtime now)
{
	const struct publisher_config *config = publisher->config;

	if (!may_make(publisher, name, now))
		return;
	channel_log_line(publisher->log, LOG_INFO, "retry queue \"%s\" does not exist; making it",
		publisher->made);
	topology_make_retry(publisher->connection, config->channel, name, config->queue, delay,
		config->retry.jitter);
}

/* True: another queue takes the returned copy. A worker may name any queue for its reply; only
 * queues for our copies are made. */
static bool on_missing_retry_queue(
	struct publisher *publisher, struct text name, mtime delay, mtime now)
{
	if (!retry_queues_has(&publisher->retry_queues, delay))
		return false;
	if (retry_queues_may_make(&publisher->retry_queues)) {
		make_retry_queue(publisher, name, delay, now);
		return false;
	}
	retry_queues_miss(&publisher->retry_queues, delay, now);
	return retry_queues_choose(&publisher->retry_queues, delay) != delay;
}

static void on_return(struct publisher *publisher, const struct publish_answer *answer,
	const struct amqp_event *amqp, mtime now)
{
	struct event event = {.kind = RETURNED, .outbox.seq = answer->number};
	struct text name = amqp->routing_key, dead_letter = publisher->config->dead_letter;
	mtime delay;

	if (dead_letter.len && text_is(name, dead_letter))
		make_dead_letter_queue(publisher, now);
	else if (retry_queue_delay(publisher->config->queue, name, &delay))
		event.outbox.again = on_missing_retry_queue(publisher, name, delay, now);

	free(amqp->content.owner);
	if (answer->number && confirm_channel_is_up(&publisher->channel))
		emit(publisher, now, event);
}

static void on_made(struct publisher *publisher, mtime now)
{
	publisher->is_making = false;
	publisher->again_after = mtime_after(now, WAIT_REMAKING);
	if (confirm_channel_is_up(&publisher->channel))
		emit(publisher, now, (struct event){.kind = QUEUE_FOUND});
}

void publisher_on_event(struct publisher *publisher, const struct amqp_event *event, mtime now)
{
	if (publisher->state == ENDED)
		return; /* a channel that is closing */
	struct publish_answer answer = confirm_channel_on_event(&publisher->channel, event);

	switch (answer.kind) {
	case PUBLISH_CONFIRMED:
	case PUBLISH_REFUSED:
		on_confirm(publisher, &answer, now);
		break;
	case PUBLISH_RETURNED:
		on_return(publisher, &answer, event, now);
		break;
	case PUBLISH_READY:
		on_ready(publisher, now);
		break;
	case PUBLISH_NOT_ANSWERED:
		if (event->kind == AMQP_QUEUE_DECLARED)
			on_made(publisher, now);
		else if (event->kind == AMQP_CHANNEL_CLOSED)
			on_closed(publisher, event, now);
		break;
	}
}

uint8_t *publisher_content_memory(size_t len, void **ret_owner)
{
	uint8_t *memory = malloc(len ? len : 1);

	if (memory)
		*ret_owner = memory;
	return memory;
}

/* Where a retry copy waits, and how long it does: a little longer than it must, so that copies do
 * not come back all at once. */
struct retry_route {
	char name[RETRY_QUEUE_NAME_MAX + 1];
	char expiration[TEXT_DECIMAL_MAX];
};

/* The options borrow from the route. */
static void plan_route(struct publisher *publisher, mtime delay, struct retry_route *route,
	struct copy_options *options)
{
	const struct publisher_config *config = publisher->config;
	mtime jitter_ms = topology_jitter(delay, config->retry.jitter) / MTIME_MS;
	mtime wait_ms = delay / MTIME_MS + backoff_random_below(&publisher->backoff, jitter_ms + 1);

	options->expiration = text_decimal((uint64_t)wait_ms, route->expiration);
	options->retry_queue =
		retry_queue_name(config->queue, delay, route->name, sizeof route->name);
}

void publisher_publish(struct publisher *publisher, const struct parcel *parcel)
{
	struct copy_options options = {.queue = publisher->config->queue,
		.dead_letter = publisher->config->dead_letter,
		.now_s = publisher->wall_s};
	struct amqp_publish publish;
	struct retry_route route;
	mtime delay = 0;

	if (publisher->state != RUNNING)
		return; /* given up in this turn: the pool publishes it again on the next channel */
	options.frame_max = connection_frame_max(publisher->connection);
	if (parcel->kind == PARCEL_RETRY)
		delay = retry_queues_choose(&publisher->retry_queues, parcel->delay);
	if (delay > 0)
		plan_route(publisher, delay, &route, &options);
	if (copy_build(parcel, &options, &publisher->scratch, &publish) == RC_OK) {
		channel_publish(publisher->connection, publisher->config->channel, &publish);
		CRASH_POINT("copy-published");
		return;
	}
	publisher->state = GIVEN_UP;
	publisher->retry_at = 0;
}

void publisher_set_wall(struct publisher *publisher, uint64_t wall_s)
{
	publisher->wall_s = wall_s;
}

/* While nothing is unconfirmed, so that nothing is published twice. Such a moment comes, because
 * refused publishes wait before they are published again. */
static mtime renewal(const struct publisher *publisher)
{
	bool is_stuck = publisher->state == RUNNING && confirm_channel_is_up(&publisher->channel) &&
			pool_is_refused(publisher->pool);
	return is_stuck ? publisher->channel_renewal.renew_at : MTIME_NEVER;
}

mtime publisher_deadline(const struct publisher *publisher)
{
	return mtime_min(publisher->retry_at, renewal(publisher));
}

static void give_up(struct publisher *publisher, mtime now)
{
	if (publisher->state == GIVEN_UP)
		channel_log_line(publisher->log, LOG_ERROR,
			"out of memory for a publish; reopening the channel in a moment and "
			"publishing the unconfirmed messages again");
	else
		channel_log_line(publisher->log, LOG_INFO,
			"the broker has refused publishes on this channel for a while; opening "
			"another one");
	channel_close(publisher->connection, publisher->config->channel);
	lose_channel(publisher, WAITING, LOSS_CONNECTION, now);
}

void publisher_tick(struct publisher *publisher, mtime now)
{
	retry_queues_tick(&publisher->retry_queues, now);
	if (now < publisher_deadline(publisher))
		return;
	if (confirm_channel_is_up(&publisher->channel))
		give_up(publisher, now);
	else
		open_channel(publisher);
}

bool publisher_is_publishing(const struct publisher *publisher)
{
	return pool_is_publishing(publisher->pool);
}

enum outbox_loss publisher_loss(bool by_error, size_t publishing)
{
	if (!by_error || publishing == 0)
		return LOSS_CONNECTION;
	return publishing == 1 ? LOSS_CLOSED : LOSS_SHARED;
}

void publisher_replan(struct publisher *publisher)
{
	retry_queues_forget(&publisher->retry_queues);
}

void publisher_close(struct publisher *publisher)
{
	publisher->state = ENDED;
	publisher->retry_at = MTIME_NEVER;
	if (publisher->connection)
		channel_close(publisher->connection, publisher->config->channel);
}

bool publisher_has_ended(const struct publisher *publisher)
{
	return publisher->state == ENDED &&
	       (!publisher->connection ||
		       channel_is_closed(publisher->connection, publisher->config->channel));
}
