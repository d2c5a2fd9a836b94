#include "broker/throttle/throttle_channel.h"

#include "amqp/properties.h"
#include "base/backoff.h"
#include "base/utf8.h"
#include "broker/throttle/throttle_message.h"

#include <stdio.h>
#include <stdlib.h>

#define CODE_ACCESS_REFUSED      403
#define CODE_NOT_FOUND           404
#define CODE_PRECONDITION_FAILED 406

/* Before the channel is opened again. */
#define WAIT_FIRST (100 * MTIME_MS)
#define WAIT_LAST  (5 * MTIME_SECOND)

/* The broker deletes a queue that nobody consumes for so long: it has no state. */
#define UNUSED_MS ((int64_t)24 * 60 * 60 * 1000)

#define DIRECT_REPLY_TO TEXT("amq.rabbitmq.reply-to")
#define ANSWERS_TAG     TEXT("wpool-answers")
#define REQUESTS_TAG    TEXT("wpool-requests")
#define SCRATCH_MAX     (256 * 1024)

enum throttle_channel_state {
	OFFLINE,
	WAITING, /* until retry_at */
	OPENING,
	STARTING_ANSWERS,
	DECLARING,
	STARTING_REQUESTS,
	CONSUMING,
};

struct throttle_channel {
	struct member *member;         /* borrowed */
	const struct channel_log *log; /* borrowed */
	char queue[256];
	struct connection *connection; /* borrowed; NULL: offline */
	uint16_t number;
	enum throttle_channel_state state;
	bool is_passive; /* the broker does not let us declare the queue */
	bool has_logged_forged;
	uint16_t logged_code; /* that was last logged as a warning */
	struct backoff backoff;
	mtime retry_at; /* MTIME_NEVER: no wait */
	struct buf scratch;
	struct throttle_request request; /* the latest that came */
	struct throttle_answer answer;
};

struct throttle_channel *throttle_channel_new(
	struct member *member, struct text name, const struct channel_log *log, uint32_t seed)
{
	struct throttle_channel *channel = calloc(1, sizeof *channel);

	if (!channel)
		return NULL;
	channel->member = member;
	channel->log = log;
	channel->retry_at = MTIME_NEVER;
	snprintf(channel->queue, sizeof channel->queue, THROTTLE_QUEUE_PREFIX "%.*s",
		TEXT_ARGS(name));
	backoff_init(&channel->backoff, WAIT_FIRST, WAIT_LAST, seed);
	buf_init(&channel->scratch, SCRATCH_MAX);
	return channel;
}

void throttle_channel_free(struct throttle_channel *channel)
{
	if (!channel)
		return;
	if (channel->connection)
		channel_close(channel->connection, channel->number);
	buf_release(&channel->scratch);
	free(channel);
}

/* ---------- the channel ---------- */

static void open_channel(struct throttle_channel *channel)
{
	channel->state = OPENING;
	channel->retry_at = MTIME_NEVER;
	channel_open(channel->connection, channel->number);
}

void throttle_channel_up(
	struct throttle_channel *channel, struct connection *connection, uint16_t number)
{
	channel->connection = connection;
	channel->number = number;
	open_channel(channel);
}

void throttle_channel_down(struct throttle_channel *channel)
{
	channel->connection = NULL;
	channel->state = OFFLINE;
	channel->retry_at = MTIME_NEVER;
	member_down(channel->member);
}

static void wait_and_retry(struct throttle_channel *channel, mtime now)
{
	channel->state = WAITING;
	channel->retry_at = mtime_after(now, backoff_next(&channel->backoff));
	member_down(channel->member);
}

static void consume(struct throttle_channel *channel, enum throttle_channel_state state,
	struct text queue, struct text tag)
{
	channel->state = state;
	channel_consume(channel->connection, channel->number, queue, tag, true);
}

static void declare(struct throttle_channel *channel)
{
	const struct amqp_argument arguments[] = {
		{"x-queue-type", "quorum", 0},
		{"x-single-active-consumer", amqp_true, 0},
		{"x-expires", NULL, UNUSED_MS},
	};
	const struct amqp_queue queue = {.name = text_from(channel->queue),
		.passive = channel->is_passive,
		.durable = true,
		.arguments = arguments,
		.argument_count = sizeof arguments / sizeof *arguments};

	channel->state = DECLARING;
	channel_declare_queue(channel->connection, channel->number, &queue);
}

static void log_close(struct throttle_channel *channel, const struct amqp_event *event)
{
	enum log_level level = event->code == channel->logged_code ? LOG_DEBUG : LOG_WARN;

	channel->logged_code = event->code;
	if (event->code == CODE_NOT_FOUND && channel->state == DECLARING)
		channel_log_line(channel->log, level,
			"queue \"%s\" does not exist, and the broker does not let us declare it: "
			"no task starts (declare it as in docs/throttles.md, or give the user the "
			"right to configure it)",
			channel->queue);
	else if (event->code == CODE_PRECONDITION_FAILED && channel->state == DECLARING)
		channel_log_line(channel->log, level,
			"queue \"%s\" is no quorum queue with a single active consumer (%s): no "
			"task starts (delete it, and it is declared as it must be)",
			channel->queue, utf8_shown(event->text).text);
	else
		channel_log_line(channel->log, level,
			"the broker closed the channel of queue \"%s\" (%u %s); reopening it",
			channel->queue, event->code, utf8_shown(event->text).text);
}

static void on_closed(struct throttle_channel *channel, const struct amqp_event *event, mtime now)
{
	bool may_be_there = event->code == CODE_ACCESS_REFUSED && !channel->is_passive &&
			    channel->state == DECLARING;

	channel->is_passive = may_be_there;
	if (may_be_there) {
		open_channel(channel);
		return;
	}
	log_close(channel, event);
	wait_and_retry(channel, now);
}

/* By the broker: the queue was deleted, or its node is gone. */
static void on_cancelled(struct throttle_channel *channel, mtime now)
{
	channel_log_line(channel->log, LOG_WARN,
		"the broker cancelled the consumer of queue \"%s\" (deleted, or its node is gone); "
		"consuming it again",
		channel->queue);
	channel_close(channel->connection, channel->number);
	wait_and_retry(channel, now);
}

/* It may not have the right to publish, which only a request shows. */
static void on_consuming(struct throttle_channel *channel)
{
	enum log_level level = channel->logged_code == CODE_ACCESS_REFUSED ? LOG_DEBUG : LOG_INFO;

	channel->state = CONSUMING;
	channel_log_line(
		channel->log, level, "asks for its starts in queue \"%s\"", channel->queue);
	member_up(channel->member);
}

/* Now all that it needs has worked. */
static void on_answered(struct throttle_channel *channel)
{
	backoff_reset(&channel->backoff);
	if (channel->logged_code == CODE_ACCESS_REFUSED)
		channel_log_line(channel->log, LOG_INFO,
			"asks for its starts in queue \"%s\" again", channel->queue);
	channel->logged_code = 0;
}

static void on_consume_ok(struct throttle_channel *channel)
{
	if (channel->state == STARTING_ANSWERS)
		declare(channel);
	else if (channel->state == STARTING_REQUESTS)
		on_consuming(channel);
}

/* ---------- messages ---------- */

static void log_forged(struct throttle_channel *channel, const char *what, const char *why)
{
	channel_log_line(channel->log, channel->has_logged_forged ? LOG_DEBUG : LOG_ERROR,
		"a message in queue \"%s\" is no %s (%s); dropping it (only supervisors that use "
		"this throttle may publish there; logged once)",
		channel->queue, what, why);
	channel->has_logged_forged = true;
}

/* The broker has put the address of the asker's channel into reply_to. */
static void on_request(
	struct throttle_channel *channel, const struct amqp_content *content, mtime now)
{
	struct properties properties;
	struct amqp_publish publish;
	const struct throttle_answer *answer;
	const char *why = throttle_request_read(content->body, &channel->request);

	if (!why && (properties_parse(content->properties, &properties) != RC_OK ||
			    !text_starts(properties.value[PROPERTY_REPLY_TO], DIRECT_REPLY_TO)))
		why = "it has no address for the answer";
	if (why) {
		log_forged(channel, "request", why);
		return;
	}
	answer = member_on_request(channel->member, &channel->request, now);
	if (answer && throttle_answer_write(answer, properties.value[PROPERTY_REPLY_TO],
			      &channel->scratch, &publish) == RC_OK)
		channel_publish(channel->connection, channel->number, &publish);
}

static void on_answer(
	struct throttle_channel *channel, const struct amqp_content *content, mtime now)
{
	const char *why = throttle_answer_read(content->body, &channel->answer);

	if (why) {
		log_forged(channel, "answer", why);
		return;
	}
	on_answered(channel);
	member_on_answer(channel->member, &channel->answer, now);
}

static void on_delivery(struct throttle_channel *channel, const struct amqp_event *event, mtime now)
{
	if (channel->state != CONSUMING && channel->state != STARTING_REQUESTS)
		return;
	if (text_is(event->consumer, ANSWERS_TAG))
		on_answer(channel, &event->content, now);
	else
		on_request(channel, &event->content, now);
}

void throttle_channel_on_event(
	struct throttle_channel *channel, const struct amqp_event *event, mtime now)
{
	switch (event->kind) {
	case AMQP_CHANNEL_OPENED:
		consume(channel, STARTING_ANSWERS, DIRECT_REPLY_TO, ANSWERS_TAG);
		break;
	case AMQP_QUEUE_DECLARED:
		consume(channel, STARTING_REQUESTS, text_from(channel->queue), REQUESTS_TAG);
		break;
	case AMQP_CONSUME_OK:
		on_consume_ok(channel);
		break;
	case AMQP_DELIVERY:
		on_delivery(channel, event, now);
		break;
	case AMQP_CANCELLED:
		on_cancelled(channel, now);
		break;
	case AMQP_CHANNEL_CLOSED:
		on_closed(channel, event, now);
		break;
	case AMQP_CHANNEL_CLOSE_OK:
		if (channel->state == OPENING) /* the number was still in use */
			open_channel(channel);
		break;
	default:
		break;
	}
}

/* ---------- time ---------- */

mtime throttle_channel_deadline(const struct throttle_channel *channel)
{
	return mtime_min(channel->retry_at, member_deadline(channel->member));
}

void throttle_channel_tick(struct throttle_channel *channel, mtime now)
{
	const struct throttle_request *request = NULL;
	struct amqp_publish publish;

	if (now >= channel->retry_at)
		open_channel(channel);
	if (channel->state == CONSUMING)
		request = member_request(channel->member, now);
	if (request && throttle_request_write(request, text_from(channel->queue), &channel->scratch,
			       &publish) == RC_OK)
		channel_publish(channel->connection, channel->number, &publish);
}
