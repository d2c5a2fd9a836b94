#include "broker/throttle/throttle_channel.h"

#include "amqp/properties.h"
#include "base/utf8.h"
#include "broker/election_queue.h"
#include "broker/throttle/throttle_message.h"
#include "message/names.h"

#include <stdio.h>
#include <stdlib.h>

#define UNUSED_MS ((int64_t)24 * 60 * 60 * 1000)

#define ANSWERS_TAG  TEXT("wpool-answers")
#define REQUESTS_TAG TEXT("wpool-requests")
#define SCRATCH_MAX  (THROTTLE_HANDOVER_MAX + 1024)
/* For the next leader to ask what this one knows. */
#define LEAVE_MAX MTIME_SECOND

enum throttle_channel_state {
	STARTING, /* see queue.step */
	STARTING_ANSWERS,
	STARTING_REQUESTS,
	CONSUMING,
	CANCELLING, /* it leaves; what the broker sends until it confirms that is answered */
	COUNTING,   /* others that consume the queue */
	HANDING_OVER,
	ENDED,
};

/* The broker deletes a queue that nobody consumes for so long: it has no state. */
static const struct amqp_argument expires = {"x-expires", NULL, UNUSED_MS};

struct throttle_channel {
	struct member *member;         /* borrowed */
	const struct channel_log *log; /* borrowed */
	char name[256];                /* of the queue */
	struct election_queue queue;   /* of requests */
	enum throttle_channel_state state;
	bool has_logged_forged;
	mtime leave_by;      /* MTIME_NEVER: it does not leave */
	uint64_t leaver;     /* a leader that leaves; 0: none, or it has handed over */
	mtime take_asked_at; /* it was asked what it knows */
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
	channel->leave_by = MTIME_NEVER;
	snprintf(
		channel->name, sizeof channel->name, THROTTLE_QUEUE_PREFIX "%.*s", TEXT_ARGS(name));
	channel->queue = (struct election_queue){
		.log = log,
		.name = text_from(channel->name),
		.without = "no task starts",
		.page = "docs/throttles.md",
		.own = expires,
	};
	election_queue_init(&channel->queue, seed);
	buf_init(&channel->scratch, SCRATCH_MAX);
	return channel;
}

void throttle_channel_free(struct throttle_channel *channel)
{
	if (!channel)
		return;
	if (channel->queue.connection)
		channel_close(channel->queue.connection, channel->queue.channel);
	buf_release(&channel->scratch);
	free(channel);
}

static void publish(
	struct throttle_channel *channel, enum rc rc, const struct amqp_publish *message)
{
	if (rc == RC_OK)
		channel_publish(channel->queue.connection, channel->queue.channel, message);
}

/* ---------- the channel ---------- */

void throttle_channel_up(
	struct throttle_channel *channel, struct connection *connection, uint16_t number)
{
	channel->queue.connection = connection;
	channel->queue.channel = number;
	if (channel->state != ENDED)
		election_queue_open(&channel->queue);
}

void throttle_channel_down(struct throttle_channel *channel)
{
	bool leaves = channel->leave_by != MTIME_NEVER || channel->state == ENDED;

	channel->queue.connection = NULL;
	channel->state = leaves ? ENDED : STARTING;
	channel->leave_by = MTIME_NEVER;
	election_queue_rest(&channel->queue);
	member_down(channel->member);
}

static void end(struct throttle_channel *channel)
{
	channel->state = ENDED;
	channel->leave_by = MTIME_NEVER;
	election_queue_rest(&channel->queue);
	member_down(channel->member);
	if (channel->queue.connection)
		channel_close(channel->queue.connection, channel->queue.channel);
}

static void consume(struct throttle_channel *channel, enum throttle_channel_state state,
	struct text queue, struct text tag)
{
	channel->state = state;
	channel_consume(channel->queue.connection, channel->queue.channel, queue, tag, true);
}

void throttle_queue_declare(
	struct connection *connection, uint16_t channel, struct text queue, bool passive)
{
	election_queue_declare_on(connection, channel, queue, &expires, passive);
}

/* It may not have the right to publish, which only a request shows. */
static void on_consuming(struct throttle_channel *channel)
{
	enum log_level level =
		channel->queue.logged_code == CODE_ACCESS_REFUSED ? LOG_DEBUG : LOG_INFO;

	channel->state = CONSUMING;
	channel_log_line(channel->log, level, "asks for its starts in queue \"%s\"", channel->name);
	member_up(channel->member);
}

/* Now all that it needs has worked. */
static void on_answered(struct throttle_channel *channel)
{
	if (channel->queue.logged_code == CODE_ACCESS_REFUSED)
		channel_log_line(channel->log, LOG_INFO,
			"asks for its starts in queue \"%s\" again", channel->name);
	election_queue_works(&channel->queue);
}

static void on_consume_ok(struct throttle_channel *channel)
{
	if (channel->state == STARTING_ANSWERS)
		election_queue_declare(&channel->queue);
	else if (channel->state == STARTING_REQUESTS)
		on_consuming(channel);
}

/* ---------- messages ---------- */

static void log_forged(struct throttle_channel *channel, const char *what, const char *why)
{
	channel_log_line(channel->log, channel->has_logged_forged ? LOG_DEBUG : LOG_ERROR,
		"a message in queue \"%s\" is no %s (%s); dropping it (only supervisors that use "
		"this throttle may publish there; logged once)",
		channel->name, what, why);
	channel->has_logged_forged = true;
}

/* The broker has put the address of the asker's channel into reply_to. NULL, or why there is none.
 */
static const char *find_address(const struct amqp_content *content, struct text *ret)
{
	struct properties properties;

	if (properties_parse(content->properties, &properties) != RC_OK ||
		!text_starts(properties.value[PROPERTY_REPLY_TO], DIRECT_REPLY_TO))
		return "it has no address for the answer";
	*ret = properties.value[PROPERTY_REPLY_TO];
	return NULL;
}

static void on_request(
	struct throttle_channel *channel, const struct amqp_content *content, mtime now)
{
	struct amqp_publish message;
	const struct throttle_answer *answer;
	struct text address;
	const char *why = throttle_request_read(content->body, &channel->request);

	if (!why)
		why = find_address(content, &address);
	if (why) {
		log_forged(channel, "request", why);
		return;
	}
	answer = member_on_request(channel->member, &channel->request, now);
	if (answer)
		publish(channel,
			throttle_answer_write(answer, address, &channel->scratch, &message),
			&message);
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

/* ---------- an orderly change of the leader ---------- */

void throttle_channel_leave(struct throttle_channel *channel, mtime now)
{
	if (channel->leave_by != MTIME_NEVER || channel->state == ENDED)
		return;
	if (channel->state != CONSUMING || !member_facts(channel->member, now).is_leading) {
		end(channel);
		return;
	}
	channel->state = CANCELLING;
	channel->leave_by = now + LEAVE_MAX;
	channel_cancel(channel->queue.connection, channel->queue.channel, REQUESTS_TAG);
}

bool throttle_channel_has_left(const struct throttle_channel *channel)
{
	return channel->state == ENDED;
}

/* The next one is elected by now. */
static void on_cancel_ok(struct throttle_channel *channel)
{
	const struct amqp_queue queue = {.name = channel->queue.name, .passive = true};

	if (channel->state != CANCELLING)
		return;
	channel->state = COUNTING;
	channel_declare_queue(channel->queue.connection, channel->queue.channel, &queue);
}

static void announce_end(struct throttle_channel *channel, uint32_t others)
{
	struct amqp_publish message;

	if (others == 0) {
		end(channel);
		return;
	}
	channel->state = HANDING_OVER;
	publish(channel,
		throttle_leave_write(member_id(channel->member), LEAVE_MAX, channel->queue.name,
			&channel->scratch, &message),
		&message);
}

static void on_leave(
	struct throttle_channel *channel, const struct amqp_content *content, mtime now)
{
	struct amqp_publish message;
	struct text address;
	const char *why = throttle_leave_read(content->body, &channel->leaver);

	if (!why)
		why = find_address(content, &address);
	if (why) {
		log_forged(channel, "request", why);
		return;
	}
	channel->take_asked_at = now;
	publish(channel,
		throttle_take_write(
			member_id(channel->member), address, &channel->scratch, &message),
		&message);
}

/* Without memory the next one is silent. */
static void on_take(struct throttle_channel *channel, const struct amqp_content *content, mtime now)
{
	struct throttle_handover *handover = calloc(1, sizeof *handover);
	struct amqp_publish message;
	struct text address;
	uint64_t id;

	if (handover && !throttle_take_read(content->body, &id) &&
		!find_address(content, &address) &&
		member_hand_over(channel->member, id, now, handover)) {
		publish(channel,
			throttle_handover_write(handover, address, &channel->scratch, &message),
			&message);
		channel_log_line(channel->log, LOG_INFO,
			"leaves, and has handed the starts of the window to the next leader");
	}
	free(handover);
	end(channel);
}

static void on_handover(
	struct throttle_channel *channel, const struct amqp_content *content, mtime now)
{
	struct throttle_handover *handover = calloc(1, sizeof *handover);
	const char *why = handover ? throttle_handover_read(content->body, handover) : NULL;

	if (why)
		log_forged(channel, "handover", why);
	else if (handover && channel->leaver > 0 && handover->leader == channel->leaver) {
		channel->leaver = 0;
		member_inherit(channel->member, handover, channel->take_asked_at, now);
	}
	free(handover);
}

/* ---------- events ---------- */

/* What was delivered before may have been handled, and its starts would be given back twice: who
 * sent it asks again after a lease. */
static void on_queue_message(
	struct throttle_channel *channel, const struct amqp_event *event, mtime now)
{
	bool consumes = channel->state == CONSUMING;

	if (event->redelivered || (!consumes && channel->state != CANCELLING))
		return;
	if (throttle_message_kind(event->content.body) != THROTTLE_LEAVE)
		on_request(channel, &event->content, now);
	else if (consumes)
		on_leave(channel, &event->content, now);
}

static void on_direct_message(
	struct throttle_channel *channel, const struct amqp_content *content, mtime now)
{
	enum throttle_message kind = throttle_message_kind(content->body);

	if (channel->state == HANDING_OVER && kind == THROTTLE_TAKE)
		on_take(channel, content, now);
	else if (channel->state == CONSUMING && kind == THROTTLE_HANDOVER)
		on_handover(channel, content, now);
	else if (channel->state == CONSUMING)
		on_answer(channel, content, now);
}

static void on_delivery(struct throttle_channel *channel, const struct amqp_event *event, mtime now)
{
	if (text_is(event->consumer, ANSWERS_TAG))
		on_direct_message(channel, &event->content, now);
	else
		on_queue_message(channel, event, now);
}

static void on_other_event(
	struct throttle_channel *channel, const struct amqp_event *event, mtime now)
{
	switch (event->kind) {
	case AMQP_QUEUE_DECLARED:
		if (channel->state == COUNTING)
			announce_end(channel, event->consumers);
		break;
	case AMQP_CONSUME_OK:
		on_consume_ok(channel);
		break;
	case AMQP_DELIVERY:
		on_delivery(channel, event, now);
		break;
	case AMQP_CANCEL_OK:
		on_cancel_ok(channel);
		break;
	default:
		break;
	}
}

void throttle_channel_on_event(
	struct throttle_channel *channel, const struct amqp_event *event, mtime now)
{
	bool is_lost = event->kind == AMQP_CHANNEL_CLOSED || event->kind == AMQP_CANCELLED;

	if (channel->state == ENDED)
		return;
	if (is_lost && channel->leave_by != MTIME_NEVER) {
		end(channel);
		return;
	}
	switch (election_queue_on_event(&channel->queue, event, now)) {
	case ELECTION_OPENED:
		consume(channel, STARTING_ANSWERS, DIRECT_REPLY_TO, ANSWERS_TAG);
		break;
	case ELECTION_DECLARED:
		consume(channel, STARTING_REQUESTS, channel->queue.name, REQUESTS_TAG);
		break;
	case ELECTION_LOST:
		channel->state = STARTING;
		member_down(channel->member);
		break;
	case ELECTION_NOTHING:
		on_other_event(channel, event, now);
		break;
	}
}

/* ---------- time ---------- */

mtime throttle_channel_deadline(const struct throttle_channel *channel, bool may_ask)
{
	mtime own = mtime_min(channel->queue.retry_at, channel->leave_by);

	may_ask = may_ask && channel->state == CONSUMING;
	return may_ask ? mtime_min(own, member_deadline(channel->member)) : own;
}

void throttle_channel_tick(struct throttle_channel *channel, bool may_ask, mtime now)
{
	const struct throttle_request *request = NULL;
	struct amqp_publish message;

	if (now >= channel->leave_by)
		end(channel);
	election_queue_tick(&channel->queue, now);
	if (may_ask && channel->state == CONSUMING)
		request = member_request(channel->member, now);
	if (request)
		publish(channel,
			throttle_request_write(
				request, channel->queue.name, &channel->scratch, &message),
			&message);
}
