#include "broker/backlog/backlog_probe.h"

static const struct backlog unknown = {.at = MTIME_NEVER};

void backlog_probe_init(struct backlog_probe *probe, struct text queue)
{
	*probe = (struct backlog_probe){.queue = queue, .backlog = unknown};
}

void backlog_probe_up(
	struct backlog_probe *probe, struct connection *connection, uint16_t channel, mtime now)
{
	probe_channel_up(&probe->channel, connection, channel, now);
}

void backlog_probe_down(struct backlog_probe *probe)
{
	probe_channel_down(&probe->channel);
	probe->is_type_wanted = probe->is_durability_wanted = false;
	probe->backlog = unknown;
	probe->is_crowded = false;
}

/* No queue has a negative length limit. So the declare makes none where there is none, and is
 * refused where there is one: first of all if that is not durable, else for what differs next. */
static void ask_durability(struct backlog_probe *probe)
{
	static const struct amqp_argument impossible = {"x-max-length", NULL, -1};
	struct amqp_queue declare = {.name = probe->queue,
		.durable = true,
		.arguments = &impossible,
		.argument_count = 1};

	channel_declare_queue(probe->channel.connection, probe->channel.number, &declare);
}

static enum backlog_request next_request(const struct backlog_probe *probe)
{
	if (probe->is_type_wanted)
		return ASKS_TYPE;
	return probe->is_durability_wanted ? ASKS_DURABILITY : ASKS_BACKLOG;
}

static void ask(struct backlog_probe *probe)
{
	struct amqp_queue declare = {.name = probe->queue, .passive = true};

	if (!probe_channel_open(&probe->channel))
		return;
	probe->asked = next_request(probe);
	if (probe->asked == ASKS_TYPE)
		channel_consume_nothing(
			probe->channel.connection, probe->channel.number, probe->queue);
	else if (probe->asked == ASKS_DURABILITY)
		ask_durability(probe);
	else
		channel_declare_queue(probe->channel.connection, probe->channel.number, &declare);
}

static bool awaits(const struct backlog_probe *probe, enum backlog_request request)
{
	return probe->channel.state == PROBE_AWAITS && probe->asked == request;
}

/* ---------- the type ---------- */

/* RabbitMQ 3.10 and 4.0: "invalid arg 'x-stream-offset' for queue 'NAME' in vhost 'VHOST' of queue
 * type rabbit_quorum_queue", and for a stream "consumer prefetch count is not set for ...". */
static enum queue_type type_of(uint16_t code, struct text reason)
{
	if (code != CODE_PRECONDITION_FAILED)
		return QUEUE_TYPE_UNKNOWN;
	if (text_ends(reason, TEXT(" of queue type rabbit_classic_queue")))
		return QUEUE_TYPE_CLASSIC;
	if (text_ends(reason, TEXT(" of queue type rabbit_quorum_queue")))
		return QUEUE_TYPE_QUORUM;
	if (text_starts(
		    reason, TEXT("PRECONDITION_FAILED - consumer prefetch count is not set for ")))
		return QUEUE_TYPE_STREAM;
	return QUEUE_TYPE_UNKNOWN;
}

/* What is known before a classic queue is asked. */
static enum queue_durability durability_of_type(enum queue_type type)
{
	switch (type) {
	case QUEUE_TYPE_CLASSIC:
		return QUEUE_DURABILITY_UNASKED;
	case QUEUE_TYPE_QUORUM:
	case QUEUE_TYPE_STREAM:
		return QUEUE_DURABLE;
	case QUEUE_TYPE_UNKNOWN:
		break;
	}
	return QUEUE_DURABILITY_UNKNOWN;
}

static void on_type(struct backlog_probe *probe, enum queue_type type)
{
	probe->type = type;
	probe->is_type_wanted = false;
	probe->durability = durability_of_type(type);
	probe->is_durability_wanted = type == QUEUE_TYPE_CLASSIC;
}

void backlog_probe_ask_type(struct backlog_probe *probe, mtime now)
{
	if (!probe->channel.connection) {
		probe->type = QUEUE_TYPE_UNKNOWN;
		return;
	}
	probe->is_type_wanted = true;
	if (probe->channel.state == PROBE_RESTS)
		probe->channel.next_at = now;
}

bool backlog_probe_is_asking_type(const struct backlog_probe *probe)
{
	return probe->is_type_wanted;
}

bool backlog_probe_awaits_durability(const struct backlog_probe *probe)
{
	return awaits(probe, ASKS_DURABILITY);
}

/* ---------- whether it is durable ---------- */

/* RabbitMQ 3.10 and 4.0: "inequivalent arg 'durable' for queue 'NAME' in vhost 'VHOST': received
 * 'true' but current is 'false'"; the other arguments are compared behind that one. If there is no
 * queue any more, the argument is invalid. */
static enum queue_durability durability_of(uint16_t code, struct text reason)
{
	if (code != CODE_PRECONDITION_FAILED ||
		!text_starts(reason, TEXT("PRECONDITION_FAILED - inequivalent arg '")))
		return QUEUE_DURABILITY_UNKNOWN;
	return text_starts(reason, TEXT("PRECONDITION_FAILED - inequivalent arg 'durable'"))
		       ? QUEUE_TRANSIENT
		       : QUEUE_DURABLE;
}

static void on_durability(struct backlog_probe *probe, enum queue_durability durability)
{
	probe->durability = durability;
	probe->is_durability_wanted = false;
}

const char *queue_durability_name(enum queue_durability durability)
{
	static const char *const names[] = {
#define X(durability, text) [durability] = text,
		QUEUE_DURABILITIES(X)
#undef X
	};

	return names[durability];
}

const char *queue_type_name(enum queue_type type)
{
	static const char *const names[] = {
#define X(type, text) [type] = text,
		QUEUE_TYPES(X)
#undef X
	};

	return names[type];
}

/* ---------- answers ---------- */

static void on_closed(struct backlog_probe *probe, const struct amqp_event *event, mtime now)
{
	if (awaits(probe, ASKS_TYPE)) {
		on_type(probe, type_of(event->code, event->text));
		probe_channel_rest(&probe->channel, now, PROBE_FIRST);
		return;
	}
	if (awaits(probe, ASKS_DURABILITY)) {
		on_durability(probe, durability_of(event->code, event->text));
		probe_channel_rest(&probe->channel, now, PROBE_FIRST);
		return;
	}
	probe->backlog = unknown;
	if (probe->is_type_wanted && probe->channel.state == PROBE_OPENS)
		on_type(probe, QUEUE_TYPE_UNKNOWN);
	probe_channel_rest(&probe->channel, now, probe->is_type_wanted ? 0 : PROBE_MISSING);
}

static void on_backlog(struct backlog_probe *probe, const struct amqp_event *event, mtime now)
{
	bool is_crowded = event->consumers > 1;

	probe->backlog = (struct backlog){.messages = event->messages,
		.at = now,
		.is_shared = is_crowded && probe->is_crowded};
	probe->is_crowded = is_crowded;
	probe_channel_rest(&probe->channel, now, probe->is_type_wanted ? 0 : PROBE_EVERY);
}

void backlog_probe_on_event(struct backlog_probe *probe, const struct amqp_event *event, mtime now)
{
	if (event->kind == AMQP_CHANNEL_OPENED && probe->channel.state == PROBE_OPENS) {
		ask(probe);
	} else if (event->kind == AMQP_QUEUE_DECLARED && awaits(probe, ASKS_BACKLOG)) {
		on_backlog(probe, event, now);
	} else if (event->kind == AMQP_CONSUME_OK && awaits(probe, ASKS_TYPE)) {
		/* No known broker accepts it. */
		on_type(probe, QUEUE_TYPE_UNKNOWN);
		probe_channel_close(&probe->channel);
	} else if (event->kind == AMQP_QUEUE_DECLARED && awaits(probe, ASKS_DURABILITY)) {
		/* The same. */
		on_durability(probe, QUEUE_DURABILITY_UNKNOWN);
		probe_channel_rest(&probe->channel, now, PROBE_FIRST);
	} else if (event->kind == AMQP_CHANNEL_CLOSE_OK) {
		probe_channel_rest(&probe->channel, now, PROBE_FIRST);
	} else if (event->kind == AMQP_CHANNEL_CLOSED) {
		on_closed(probe, event, now);
	}
}

/* Subtracts from the time that is set, so that requests which fail for another reason than a
 * missing queue still keep their interval. */
void backlog_probe_hint(struct backlog_probe *probe, mtime now)
{
	if (probe->channel.state == PROBE_RESTS &&
		probe->channel.next_at > mtime_after(now, PROBE_EVERY))
		probe->channel.next_at -= PROBE_MISSING - PROBE_EVERY;
}

mtime backlog_probe_deadline(const struct backlog_probe *probe)
{
	return probe_channel_deadline(&probe->channel);
}

void backlog_probe_tick(struct backlog_probe *probe, mtime now)
{
	if (now < backlog_probe_deadline(probe))
		return;
	ask(probe);
}
