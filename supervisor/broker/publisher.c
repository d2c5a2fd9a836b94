#include "broker/publisher.h"
#include "base/backoff.h"
#include "broker/channel_renewal.h"
#include "broker/confirm_channel.h"
#include "broker/retry_queues.h"

#include "base/crash_point.h"
#include "base/utf8.h"
#include "message/copy.h"

#include <stdio.h>
#include <stdlib.h>

/* Before a channel is opened again. */
#define WAIT_FIRST (100 * MTIME_MS)
#define WAIT_LAST  (10 * MTIME_SECOND)
#define WAIT_APART (2 * MTIME_SECOND) /* far longer than a publish takes to be confirmed */
/* Before the next declaration, after the broker refused one. */
#define WAIT_MAKING MTIME_MINUTE
/* Before the same queue is declared again: no busy loop if it is deleted each time. */
#define WAIT_REMAKING MTIME_SECOND
#define SCRATCH_LIMIT (1024 * 1024) /* properties only: far above any frame_max */

enum publisher_state {
	OFFLINE,  /* no connection */
	WAITING,  /* for retry_at, when the channel is opened again */
	RUNNING,  /* see channel for its state */
	GIVEN_UP, /* out of memory in a publish: the next tick closes the channel */
	ENDED,    /* by publisher_close */
};

struct publisher {
	const struct publisher_config *config; /* borrowed */
	const struct channel_log *log;         /* borrowed */
	struct pool *pool;                     /* borrowed */
	struct connection *connection;         /* borrowed, NULL: offline */
	uint16_t number;                       /* of its channel there */
	enum publisher_state state;
	struct confirm_channel channel;
	uint32_t epoch;
	bool keeps_apart; /* a publish may have cost the last connection */
	bool is_making;   /* the declaration of the queue `made` is not answered */
	char made[RETRY_QUEUE_NAME_MAX + 1];
	mtime make_after;   /* declare no queue before this */
	mtime remake_after; /* do not declare the queue `made` again before this */
	struct missing_queues missing_retry, missing_wait;
	uint32_t waits_used;            /* see publisher_take_wait_queues */
	struct channel_refusal refusal; /* the latest one */
	uint64_t wall_s;
	struct buf scratch; /* the properties of the parcel being published */
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
	confirm_channel_open(&publisher->channel, publisher->connection, publisher->number);
}

void publisher_up(
	struct publisher *publisher, struct connection *connection, uint16_t channel, mtime now)
{
	publisher->connection = connection;
	publisher->number = channel;
	if (publisher->state == ENDED)
		return;
	missing_queues_forget(&publisher->missing_retry);
	missing_queues_forget(&publisher->missing_wait);
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

/* The broker closed the channel because of the declaration, or because of a publish that followed
 * it. From now on publish one by one: otherwise both would be sent on every new channel, and the
 * publish would never be found. The missing right is logged once: a worker may request many delays,
 * and the next connection has the same answer. */
static void on_making_refused(
	struct publisher *publisher, const struct amqp_event *event, mtime now)
{
	struct text name = text_from(publisher->made);
	struct channel_refusal refusal = {.kind = NULL};
	struct missing_queues *missing = NULL;
	const char *then = NULL;
	uint32_t bits = 0;
	mtime delay;

	if (retry_queue_delay(publisher->config->queue, name, &delay)) {
		missing = &publisher->missing_retry;
		bits = retry_queues_bits(&publisher->config->retry, delay);
		then = "tasks wait in the pool's retry queue with the nearest delay";
	} else if (wait_queue_step(publisher->config->queue, name, &delay)) {
		missing = &publisher->missing_wait;
		bits = wait_queues_bit(delay);
		then = "what is to begin later waits in a shorter wait queue of the pool, as often "
		       "as needed; if there is none, it stays unacked; `wpool declare`, with a "
		       "user who has the right, makes them all";
	}
	channel_refusal_set(&refusal, missing ? REFUSED_DECLARE_RETRY : REFUSED_DECLARE, name,
		event->code, event->text);
	if (event->code == CODE_ACCESS_REFUSED && missing) {
		channel_log_line(publisher->log, missing->is_logged ? LOG_DEBUG : LOG_WARN,
			"%s; %s (logged once)", refusal.text, then);
		missing->has_no_right = missing->is_logged = true;
		missing_queues_add(missing, bits, now);
	} else {
		publisher->make_after = mtime_after(now, WAIT_MAKING);
		publisher->refusal = refusal;
		channel_log_line(publisher->log, LOG_WARN,
			"%s; its copies wait, their tasks unacked, until the queue exists "
			"(retrying in a minute)",
			refusal.text);
	}
	lose_channel(publisher, WAITING, LOSS_SHARED, now);
}

static void log_close(struct publisher *publisher, const struct amqp_event *event)
{
	static const char next[] = "reopening it and publishing the unconfirmed messages again, "
				   "one by one";

	if (event->code != CODE_ACCESS_REFUSED) {
		channel_log_line(publisher->log, LOG_WARN,
			"the broker closed the publishing channel (%u %s); %s", event->code,
			utf8_shown(event->text).text, next);
		return;
	}
	channel_refusal_set(&publisher->refusal, REFUSED_PUBLISH, publisher->config->queue,
		event->code, event->text);
	channel_log_line(publisher->log, LOG_WARN, "%s; its channel is closed; %s",
		publisher->refusal.text, next);
}

static void on_closed(struct publisher *publisher, const struct amqp_event *event, mtime now)
{
	if (publisher->is_making) {
		on_making_refused(publisher, event, now);
		return;
	}
	log_close(publisher, event);
	/* In GIVEN_UP the pool counts a parcel as published that was not: do not blame it. */
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
	channel_refusal_clear(&publisher->refusal);
	channel_renewal_on_answer(&publisher->channel_renewal, is_refused, now);
	emit(publisher, now, event);
	CRASH_POINT("confirm-counted");
}

/* Declare one queue at a time. Copies for another missing queue are published again and returned
 * again, so their queue is declared later. */
static bool may_make(struct publisher *publisher, struct text name, mtime now)
{
	bool is_same = text_is(name, text_from(publisher->made));

	if (publisher->is_making || now < publisher->make_after ||
		(is_same && now < publisher->remake_after))
		return false;
	publisher->is_making = true;
	snprintf(publisher->made, sizeof publisher->made, "%.*s", TEXT_ARGS(name));
	return true;
}

/* True: publish the returned copy again, to another queue. A queue whose delay is not ours is not
 * declared: a worker may name any queue for its reply. */
static bool on_missing_retry_queue(
	struct publisher *publisher, struct text name, mtime delay, bool must_wait, mtime now)
{
	const struct publisher_config *config = publisher->config;
	struct missing_queues *missing = &publisher->missing_retry;
	uint32_t bits = retry_queues_bits(&config->retry, delay);

	if (bits == 0)
		return false;
	if (missing->has_no_right) {
		missing_queues_add(missing, bits, now);
		return retry_queues_choose(&config->retry, missing, delay, must_wait) != delay;
	}
	if (may_make(publisher, name, now)) {
		channel_log_line(publisher->log, LOG_INFO,
			"retry queue \"%s\" does not exist; making it", publisher->made);
		topology_make_retry(publisher->connection, publisher->number, name, config->queue,
			delay, config->retry.jitter);
	}
	return false;
}

/* The same of a wait queue. */
static bool on_missing_wait_queue(
	struct publisher *publisher, struct text name, mtime step, mtime now)
{
	const struct publisher_config *config = publisher->config;
	struct missing_queues *missing = &publisher->missing_wait;
	uint32_t bit = wait_queues_bit(step);

	if (bit == 0)
		return false;
	publisher->waits_used &= ~bit;
	if (missing->has_no_right) {
		missing_queues_add(missing, bit, now);
		return wait_queues_choose(missing, step) != step;
	}
	if (may_make(publisher, name, now)) {
		channel_log_line(publisher->log, LOG_INFO,
			"wait queue \"%s\" does not exist; making it", publisher->made);
		topology_make_retry(
			publisher->connection, publisher->number, name, config->queue, step, 0);
	}
	return false;
}

static void on_return(struct publisher *publisher, const struct publish_answer *answer,
	const struct amqp_event *amqp, mtime now)
{
	struct event event = {.kind = RETURNED, .outbox.seq = answer->number};
	struct text name = amqp->routing_key, dead_letter = publisher->config->dead_letter;
	mtime delay;

	if (dead_letter.len && text_is(name, dead_letter)) {
		if (may_make(publisher, name, now)) {
			channel_log_line(publisher->log, LOG_WARN,
				"queue \"%s\" for dead letters is gone; making it again",
				publisher->made);
			topology_make(publisher->connection, publisher->number, name);
		}
	} else if (retry_queue_delay(publisher->config->queue, name, &delay)) {
		bool must_wait = answer->number && pool_must_wait(publisher->pool, answer->number);
		event.outbox.again = on_missing_retry_queue(publisher, name, delay, must_wait, now);
	} else if (wait_queue_step(publisher->config->queue, name, &delay)) {
		event.outbox.again = on_missing_wait_queue(publisher, name, delay, now);
	}

	free(amqp->content.owner);
	if (answer->number && confirm_channel_is_up(&publisher->channel))
		emit(publisher, now, event);
}

void publisher_on_event(struct publisher *publisher, const struct amqp_event *event, mtime now)
{
	if (publisher->state == ENDED)
		return; /* its channel is closing */
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
		publisher->epoch++;
		channel_renewal_forget(&publisher->channel_renewal);
		emit(publisher, now, (struct event){.kind = OUTBOX_UP});
		emit(publisher, now, (struct event){.kind = QUEUE_FOUND});
		break;
	case PUBLISH_NOT_ANSWERED:
		if (event->kind == AMQP_CHANNEL_CLOSED) {
			on_closed(publisher, event, now);
		} else if (event->kind == AMQP_QUEUE_DECLARED) {
			publisher->is_making = false;
			publisher->remake_after = mtime_after(now, WAIT_REMAKING);
			if (confirm_channel_is_up(&publisher->channel))
				emit(publisher, now, (struct event){.kind = QUEUE_FOUND});
		}
		break;
	}
}

uint32_t publisher_take_wait_queues(struct publisher *publisher)
{
	uint32_t used = publisher->waits_used;

	publisher->waits_used = 0;
	return used;
}

const struct channel_refusal *publisher_refusal(const struct publisher *publisher)
{
	return &publisher->refusal;
}

/* Texts of options, where a copy waits. */
struct wait_texts {
	char queue[RETRY_QUEUE_NAME_MAX + 1], expiration[TEXT_DECIMAL_MAX];
};

/* A random part is added, so that copies do not expire all at once. */
static void set_retry_queue(struct publisher *publisher, const struct parcel *parcel,
	struct wait_texts *texts, struct copy_options *options)
{
	const struct retry_plan *plan = &publisher->config->retry;
	mtime delay = retry_queues_choose(
		plan, &publisher->missing_retry, parcel->delay, parcel->kind == PARCEL_POSTPONE);
	mtime jitter_ms = topology_jitter(delay, plan->jitter) / MTIME_MS;

	if (delay == 0)
		return;
	mtime wait_ms = delay / MTIME_MS + backoff_random_below(&publisher->backoff, jitter_ms + 1);
	options->expiration = text_decimal((uint64_t)wait_ms, texts->expiration);
	options->retry_queue =
		retry_queue_name(options->queue, delay, texts->queue, sizeof texts->queue);
}

static void set_wait_queue(struct publisher *publisher, const struct parcel *parcel,
	struct wait_texts *texts, struct copy_options *options)
{
	mtime step = wait_queues_choose(&publisher->missing_wait, parcel->delay);

	publisher->waits_used |= wait_queues_bit(step);
	options->expiration = text_decimal((uint64_t)(step / MTIME_MS), texts->expiration);
	options->retry_queue =
		wait_queue_name(options->queue, step, texts->queue, sizeof texts->queue);
}

void publisher_publish(struct publisher *publisher, const struct parcel *parcel)
{
	struct copy_options options = {.queue = publisher->config->queue,
		.dead_letter = publisher->config->dead_letter,
		.now_s = publisher->wall_s};
	struct wait_texts texts;
	struct amqp_publish publish;

	if (publisher->state != RUNNING)
		return; /* GIVEN_UP in this turn: the pool publishes it again on the next channel */
	options.frame_max = connection_frame_max(publisher->connection);
	if (parcel->kind == PARCEL_LATER && parcel->delay > 0)
		set_wait_queue(publisher, parcel, &texts, &options);
	else if (parcel->kind != PARCEL_LATER && parcel_may_wait(parcel))
		set_retry_queue(publisher, parcel, &texts, &options);
	if (copy_build(parcel, &options, &publisher->scratch, &publish) == RC_OK) {
		channel_publish(publisher->connection, publisher->number, &publish);
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

/* The channel is renewed while nothing is unconfirmed, so that nothing is published twice. Such a
 * moment comes, because refused publishes wait before they are published again. */
static mtime renewal_deadline(const struct publisher *publisher)
{
	bool is_stuck = publisher->state == RUNNING && confirm_channel_is_up(&publisher->channel) &&
			pool_is_refused(publisher->pool);
	return is_stuck ? publisher->channel_renewal.renew_at : MTIME_NEVER;
}

mtime publisher_deadline(const struct publisher *publisher)
{
	return mtime_min(publisher->retry_at, renewal_deadline(publisher));
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
	channel_close(publisher->connection, publisher->number);
	lose_channel(publisher, WAITING, LOSS_CONNECTION, now);
}

void publisher_tick(struct publisher *publisher, mtime now)
{
	missing_queues_tick(&publisher->missing_retry, now);
	missing_queues_tick(&publisher->missing_wait, now);
	if (now < publisher_deadline(publisher))
		return;
	if (confirm_channel_is_up(&publisher->channel))
		give_up(publisher, now);
	else
		open_channel(publisher);
}

bool publisher_is_publishing(const struct publisher *publisher)
{
	return publisher->state != ENDED && pool_is_publishing(publisher->pool);
}

enum outbox_loss publisher_loss(bool by_error, size_t publishing)
{
	if (!by_error || publishing == 0)
		return LOSS_CONNECTION;
	return publishing == 1 ? LOSS_CLOSED : LOSS_SHARED;
}

void publisher_replan(struct publisher *publisher)
{
	missing_queues_forget(&publisher->missing_retry);
}

void publisher_close(struct publisher *publisher)
{
	publisher->state = ENDED;
	publisher->retry_at = MTIME_NEVER;
	if (publisher->connection)
		channel_close(publisher->connection, publisher->number);
}

bool publisher_has_ended(const struct publisher *publisher)
{
	return publisher->state == ENDED &&
	       (!publisher->connection ||
		       channel_is_closed(publisher->connection, publisher->number));
}
