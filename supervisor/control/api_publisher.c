#include "control/api_publisher.h"

#include "base/utf8.h"
#include "broker/confirm_channel.h"
#include "os/clock.h"
#include "os/loop.h"

#include <stdio.h>
#include <stdlib.h>

/* Channels, each with one message at a time. */
#define LANES 16
/* Of a lane's message, or of the connection. */
#define WHY_SIZE 400

#define SENT_UNKNOWN "it may be in a queue: publish it again with the same message_id"

struct api_lane {
	struct confirm_channel channel;
	struct api_message *message; /* borrowed; NULL: none, or its time is over */
	bool is_published;           /* a confirm is awaited */
	bool is_returned;
	char why[WHY_SIZE];
};

struct api_publisher {
	struct ev_loop *loop;
	struct broker_link_config config;
	struct broker_link *link;      /* owned; NULL: not opened yet */
	struct connection *connection; /* borrowed while it is open, else NULL */
	struct link waiting, sent;     /* messages, in order of their deadlines */
	struct ev_timer limit;         /* of the oldest message */
	struct api_lane lanes[LANES];
	bool is_blocked;        /* the broker accepts no messages now */
	char blocked[WHY_SIZE]; /* why */
	char why[WHY_SIZE];
	bool is_closing, has_ended;
};

static struct api_message *message_at(struct link *place)
{
	return place ? CONTAINER_OF(place, struct api_message, place) : NULL;
}

static struct api_lane *lane_of(struct api_publisher *p, uint16_t channel)
{
	return channel >= 1 && channel <= LANES ? &p->lanes[channel - 1] : NULL;
}

static uint16_t number_of(const struct api_publisher *p, const struct api_lane *lane)
{
	return (uint16_t)(lane - p->lanes + 1);
}

/* ---------- the end of a message ---------- */

static mtime first_deadline(struct api_publisher *p)
{
	struct api_message *sent = message_at(list_first(&p->sent)),
			   *waiting = message_at(list_first(&p->waiting));

	return mtime_min(
		sent ? sent->deadline : MTIME_NEVER, waiting ? waiting->deadline : MTIME_NEVER);
}

static void arm_limit(struct api_publisher *p)
{
	mtime deadline = first_deadline(p);

	if (deadline == MTIME_NEVER)
		ev_timer_stop(p->loop, &p->limit);
	else
		loop_start_timer(p->loop, &p->limit, deadline - clock_now());
}

static void end_message(struct api_publisher *p, struct api_message *message,
	enum api_publish_result result, const char *why)
{
	if (message->lane)
		message->lane->message = NULL;
	list_remove(&message->place);
	message->lane = NULL;
	arm_limit(p);
	message->on_end(message, result, why);
}

static void end_waiting(struct api_publisher *p, const char *why)
{
	struct api_message *message;

	while ((message = message_at(list_first(&p->waiting))))
		end_message(p, message, API_PUBLISH_LATER, why);
}

/* Why a message that was sent has no confirm in time. */
static const char *overdue_reason(struct api_publisher *p)
{
	if (p->is_blocked)
		snprintf(p->why, sizeof p->why,
			"the broker accepts no messages now (%.200s); " SENT_UNKNOWN, p->blocked);
	else
		snprintf(p->why, sizeof p->why,
			"the broker did not confirm it in time; " SENT_UNKNOWN);
	return p->why;
}

static const char *blocked_reason(struct api_publisher *p)
{
	snprintf(p->why, sizeof p->why, "the broker accepts no messages now (%.200s)", p->blocked);
	return p->why;
}

/* Why there is no connection. */
static const char *down_reason(struct api_publisher *p)
{
	const char *failure = p->link ? broker_link_failure(p->link) : "";

	snprintf(p->why, sizeof p->why, "no connection to the broker%s%.300s", *failure ? ": " : "",
		failure);
	return p->why;
}

/* The confirm may come much later or never, as from a quorum queue without its majority. On a new
 * channel the lane serves other messages, and no late answer is taken for theirs. */
static void renew_lane(struct api_publisher *p, struct api_lane *lane)
{
	lane->is_published = false;
	channel_close(p->connection, number_of(p, lane));
	confirm_channel_open(&lane->channel, p->connection, number_of(p, lane));
}

static void end_overdue(struct api_publisher *p, struct api_message *message)
{
	struct api_lane *lane = message->lane;

	if (lane && lane->is_published) {
		end_message(p, message, API_PUBLISH_UNKNOWN, overdue_reason(p));
		renew_lane(p, lane);
	} else if (p->connection) {
		end_message(p, message, API_PUBLISH_LATER, "the broker did not answer in time");
	} else {
		end_message(p, message, API_PUBLISH_LATER, down_reason(p));
	}
}

static void on_limit(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct api_publisher *p = timer->data;
	struct link *const lists[] = {&p->sent, &p->waiting};
	mtime now = clock_now();
	struct api_message *message;

	(void)loop;
	(void)events;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		while ((message = message_at(list_first(lists[i]))) && message->deadline <= now)
			end_overdue(p, message);
	arm_limit(p);
}

/* ---------- channels ---------- */

static void publish_on(struct api_publisher *p, struct api_lane *lane)
{
	struct api_message *message = lane->message;

	message->envelope.now_ms = clock_wall_ms();
	switch (envelope_check(&message->envelope, p->connection)) {
	case RC_OK:
		if (envelope_publish(&message->envelope, p->connection, lane->channel.channel,
			    text_from(message->id), 0, message->body)) {
			lane->is_published = true;
			return;
		}
		break;
	case RC_LIMIT:
		end_message(p, message, API_PUBLISH_REFUSED,
			"the headers do not fit into one frame of this broker");
		return;
	default:
		break;
	}
	end_message(p, message, API_PUBLISH_LATER, "out of memory");
}

static bool is_free(const struct api_publisher *p, const struct api_lane *lane)
{
	return !lane->message && !lane->is_published &&
	       (confirm_channel_is_up(&lane->channel) ||
		       lane->channel.state == CONFIRM_CHANNEL_DOWN) &&
	       number_of(p, lane) <= connection_channel_max(p->connection);
}

/* Give each message that waits a channel, while there are some. */
static void start_waiting(struct api_publisher *p)
{
	struct api_message *message;

	for (size_t i = 0; p->connection && !p->is_blocked && i < LANES; i++) {
		struct api_lane *lane = &p->lanes[i];
		if (!is_free(p, lane))
			continue;
		message = message_at(list_first(&p->waiting));
		if (!message)
			return;
		list_remove(&message->place);
		list_append(&p->sent, &message->place);
		lane->message = message;
		lane->is_returned = false;
		message->lane = lane;
		if (confirm_channel_is_up(&lane->channel))
			publish_on(p, lane);
		else
			confirm_channel_open(&lane->channel, p->connection, number_of(p, lane));
	}
}

static void on_answer(struct api_publisher *p, struct api_lane *lane, enum publish_answer_kind kind)
{
	struct api_message *message = lane->message;

	lane->is_published = false;
	if (!message)
		return;
	if (lane->is_returned)
		end_message(p, message, API_PUBLISH_REFUSED, lane->why);
	else if (kind == PUBLISH_CONFIRMED)
		end_message(p, message, API_PUBLISH_CONFIRMED, "");
	else
		end_message(p, message, API_PUBLISH_LATER,
			"a queue refused it (negative confirm): it is full, or cannot store it");
}

static void record_why(struct api_lane *lane, const char *what, const struct amqp_event *event)
{
	snprintf(lane->why, sizeof lane->why, "%.80s: %u %.300s", what, (unsigned)event->code,
		utf8_shown(event->text).text);
}

/* The broker refuses the message, or even a new channel. */
static void on_channel_closed(
	struct api_publisher *p, struct api_lane *lane, const struct amqp_event *event)
{
	bool was_published = lane->is_published;

	confirm_channel_down(&lane->channel);
	lane->is_published = false;
	record_why(lane, "the broker refuses it", event);
	if (lane->message)
		end_message(p, lane->message,
			was_published ? API_PUBLISH_REFUSED : API_PUBLISH_LATER, lane->why);
}

static void on_lane_event(
	struct api_publisher *p, struct api_lane *lane, const struct amqp_event *event)
{
	struct publish_answer answer = confirm_channel_on_event(&lane->channel, event);

	switch (answer.kind) {
	case PUBLISH_READY:
		if (lane->message && p->is_blocked) /* published now, its result would be unknown */
			end_message(p, lane->message, API_PUBLISH_LATER, blocked_reason(p));
		else if (lane->message)
			publish_on(p, lane);
		break;
	case PUBLISH_CONFIRMED:
	case PUBLISH_REFUSED:
		on_answer(p, lane, answer.kind);
		break;
	case PUBLISH_RETURNED:
		lane->is_returned = true;
		record_why(lane, "no queue takes it (do the queue and the binding exist?)", event);
		break;
	case PUBLISH_NOT_ANSWERED:
		break;
	}
	if (event->kind == AMQP_CHANNEL_CLOSED)
		on_channel_closed(p, lane, event);
	start_waiting(p);
}

/* ---------- the connection ---------- */

static void on_up(void *ctx, struct connection *connection)
{
	struct api_publisher *p = ctx;

	p->connection = connection;
	start_waiting(p);
}

static void on_down(void *ctx, bool by_error)
{
	struct api_publisher *p = ctx;
	struct api_message *message;

	(void)by_error;
	p->connection = NULL;
	p->is_blocked = false;
	while ((message = message_at(list_first(&p->sent)))) {
		bool was_published = message->lane->is_published;
		end_message(p, message, was_published ? API_PUBLISH_UNKNOWN : API_PUBLISH_LATER,
			was_published ? "the connection was lost before the confirm; " SENT_UNKNOWN
				      : "the connection to the broker was lost");
	}
	for (size_t i = 0; i < LANES; i++)
		p->lanes[i] = (struct api_lane){0};
}

static void on_blocked(struct api_publisher *p, struct text why)
{
	p->is_blocked = true;
	utf8_copy_escaped(p->blocked, sizeof p->blocked, why);
	end_waiting(p, blocked_reason(p));
}

static void on_event(void *ctx, const struct amqp_event *event)
{
	struct api_publisher *p = ctx;
	struct api_lane *lane = lane_of(p, event->channel);

	if (event->kind == AMQP_BLOCKED) {
		on_blocked(p, event->text);
	} else if (event->kind == AMQP_UNBLOCKED) {
		p->is_blocked = false;
		start_waiting(p);
	} else if (lane) {
		on_lane_event(p, lane, event);
	}
	free(event->content.owner);
}

static void on_end(void *ctx, const char *why)
{
	struct api_publisher *p = ctx;

	(void)why;
	p->has_ended = true;
}

static const struct broker_link_handler handler = {
	.on_up = on_up,
	.on_down = on_down,
	.on_event = on_event,
	.on_end = on_end,
};

/* ---------- life ---------- */

struct api_publisher *api_publisher_new(
	struct ev_loop *loop, const struct broker_link_config *shared)
{
	struct api_publisher *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->loop = loop;
	p->config = *shared;
	p->config.name = "api";
	list_init(&p->waiting);
	list_init(&p->sent);
	ev_timer_init(&p->limit, on_limit, 0, 0);
	p->limit.data = p;
	return p;
}

bool api_publisher_add(struct api_publisher *p, struct api_message *message, const char **ret_why)
{
	if (p->is_closing) {
		*ret_why = "the supervisor stops";
		return false;
	}
	if (p->is_blocked) {
		*ret_why = blocked_reason(p);
		return false;
	}
	if (!p->link)
		p->link = broker_link_new(p->loop, &p->config, &handler, p);
	if (!p->link) {
		*ret_why = "out of memory";
		return false;
	}
	message->lane = NULL;
	message->deadline = clock_now() + API_PUBLISHER_LIMIT;
	list_append(&p->waiting, &message->place);
	arm_limit(p);
	start_waiting(p);
	return true;
}

void api_publisher_flush(struct api_publisher *p)
{
	if (p->link)
		broker_link_flush(p->link);
}

void api_publisher_close(struct api_publisher *p)
{
	struct api_message *message;

	p->is_closing = true;
	end_waiting(p, "the supervisor stops");
	while ((message = message_at(list_first(&p->sent))))
		end_message(p, message,
			message->lane->is_published ? API_PUBLISH_UNKNOWN : API_PUBLISH_LATER,
			message->lane->is_published ? "the supervisor stops; " SENT_UNKNOWN
						    : "the supervisor stops");
	if (p->link)
		broker_link_close(p->link);
	else
		p->has_ended = true;
}

bool api_publisher_is_closed(const struct api_publisher *p)
{
	return p->has_ended;
}

void api_publisher_free(struct api_publisher *p)
{
	if (!p)
		return;
	ev_timer_stop(p->loop, &p->limit);
	broker_link_free(p->link);
	free(p);
}
