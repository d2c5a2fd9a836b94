#include "broker/election_queue.h"

#include "base/utf8.h"

/* Before the channel is opened again. Short: meanwhile none, or another one, is active. */
#define WAIT_FIRST (100 * MTIME_MS)
#define WAIT_LAST  (5 * MTIME_SECOND)

void election_queue_init(struct election_queue *queue, uint32_t seed)
{
	queue->connection = NULL;
	queue->is_passive = false;
	queue->logged_code = 0;
	election_queue_rest(queue);
	backoff_init(&queue->backoff, WAIT_FIRST, WAIT_LAST, seed);
}

void election_queue_open(struct election_queue *queue)
{
	queue->step = ELECTION_OPENS;
	queue->retry_at = MTIME_NEVER;
	channel_open(queue->connection, queue->channel);
}

void election_queue_rest(struct election_queue *queue)
{
	queue->step = ELECTION_RESTS;
	queue->retry_at = MTIME_NEVER;
}

void election_queue_declare_on(struct connection *connection, uint16_t channel, struct text name,
	const struct amqp_argument *own, bool is_passive)
{
	const struct amqp_argument arguments[] = {
		{"x-queue-type", "quorum", 0},
		{"x-single-active-consumer", amqp_true, 0},
		*own,
	};

	channel_declare_queue(connection, channel,
		&(struct amqp_queue){.name = name,
			.passive = is_passive,
			.durable = true,
			.arguments = arguments,
			.argument_count = sizeof arguments / sizeof *arguments});
}

void election_queue_declare(struct election_queue *queue)
{
	queue->step = ELECTION_DECLARES;
	election_queue_declare_on(
		queue->connection, queue->channel, queue->name, &queue->own, queue->is_passive);
}

static enum election_result election_queue_lose(struct election_queue *queue, mtime now)
{
	queue->step = ELECTION_RESTS;
	queue->retry_at = mtime_after(now, backoff_next(&queue->backoff));
	return ELECTION_LOST;
}

void election_queue_works(struct election_queue *queue)
{
	queue->logged_code = 0;
	backoff_reset(&queue->backoff);
}

/* Each reason once. */
static void log_close(struct election_queue *queue, const struct amqp_event *event)
{
	bool is_declaring = queue->step == ELECTION_DECLARES;
	enum log_level level = event->code == queue->logged_code ? LOG_DEBUG : LOG_WARN;

	queue->logged_code = event->code;
	if (event->code == CODE_NOT_FOUND && is_declaring)
		channel_log_line(queue->log, level,
			"queue \"%.*s\" does not exist, and the broker does not let us declare it: "
			"%s (declare it as in %s, or give the user the right to configure it)",
			TEXT_ARGS(queue->name), queue->without, queue->page);
	else if (event->code == CODE_PRECONDITION_FAILED && is_declaring)
		channel_log_line(queue->log, level,
			"queue \"%.*s\" is no quorum queue with a single active consumer (%s): %s "
			"(delete it, and it is declared as it must be)",
			TEXT_ARGS(queue->name), utf8_shown(event->text).text, queue->without);
	else
		channel_log_line(queue->log, level,
			"the broker closed the channel of queue \"%.*s\" (%u %s); reopening it",
			TEXT_ARGS(queue->name), event->code, utf8_shown(event->text).text);
}

/* The queue may be there where we may not declare it. */
static enum election_result on_closed(
	struct election_queue *queue, const struct amqp_event *event, mtime now)
{
	queue->is_passive = event->code == CODE_ACCESS_REFUSED && !queue->is_passive &&
			    queue->step == ELECTION_DECLARES;
	if (queue->is_passive) {
		election_queue_open(queue);
		return ELECTION_NOTHING;
	}
	log_close(queue, event);
	return election_queue_lose(queue, now);
}

/* The queue was deleted, or its node is gone. */
static enum election_result on_cancelled(struct election_queue *queue, mtime now)
{
	channel_log_line(queue->log, LOG_WARN,
		"the broker cancelled the consumer of queue \"%.*s\" (deleted, or its node is "
		"gone); consuming it again",
		TEXT_ARGS(queue->name));
	channel_close(queue->connection, queue->channel);
	return election_queue_lose(queue, now);
}

enum election_result election_queue_on_event(
	struct election_queue *queue, const struct amqp_event *event, mtime now)
{
	enum election_step step = queue->step;

	switch (event->kind) {
	case AMQP_CHANNEL_OPENED:
		queue->step = ELECTION_RESTS;
		return ELECTION_OPENED;
	case AMQP_QUEUE_DECLARED:
		queue->step = ELECTION_RESTS;
		return step == ELECTION_DECLARES ? ELECTION_DECLARED : ELECTION_NOTHING;
	case AMQP_CHANNEL_CLOSED:
		return on_closed(queue, event, now);
	case AMQP_CANCELLED:
		return on_cancelled(queue, now);
	case AMQP_CHANNEL_CLOSE_OK:
		if (step == ELECTION_OPENS) /* the number was still in use */
			election_queue_open(queue);
		return ELECTION_NOTHING;
	default:
		return ELECTION_NOTHING;
	}
}

void election_queue_tick(struct election_queue *queue, mtime now)
{
	if (now >= queue->retry_at)
		election_queue_open(queue);
}
