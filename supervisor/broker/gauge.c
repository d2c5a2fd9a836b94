#include "broker/gauge.h"

static const struct backlog unknown = {.at = MTIME_NEVER};

void gauge_init(struct gauge *gauge, struct text queue)
{
	*gauge = (struct gauge){.queue = queue, .backlog = unknown};
}

static void rest(struct gauge *gauge, mtime now, mtime span)
{
	gauge->state = GAUGE_RESTS;
	gauge->next_at = mtime_after(now, span);
}

void gauge_up(struct gauge *gauge, struct connection *connection, uint16_t channel, mtime now)
{
	if (channel > connection_channel_max(connection))
		return;
	gauge->connection = connection;
	gauge->channel = channel;
	rest(gauge, now, GAUGE_FIRST);
}

void gauge_down(struct gauge *gauge)
{
	gauge->connection = NULL;
	gauge->state = GAUGE_OFFLINE;
	gauge->backlog = unknown;
}

static void ask(struct gauge *gauge)
{
	struct amqp_queue declare = {.name = gauge->queue, .passive = true};

	channel_declare_queue(gauge->connection, gauge->channel, &declare);
	gauge->state = GAUGE_AWAITS;
}

void gauge_on_event(struct gauge *gauge, const struct amqp_event *event, mtime now)
{
	if (event->kind == AMQP_CHANNEL_OPENED && gauge->state == GAUGE_OPENS) {
		ask(gauge);
	} else if (event->kind == AMQP_QUEUE_DECLARED && gauge->state == GAUGE_AWAITS) {
		gauge->backlog = (struct backlog){event->messages, now};
		rest(gauge, now, GAUGE_EVERY);
	} else if (event->kind == AMQP_CHANNEL_CLOSED) {
		gauge->backlog = unknown;
		rest(gauge, now, GAUGE_MISSING);
	}
}

/* Where the looks fail for another reason than a missing queue they are no busy loop: from one to
 * the next is as long as ever. */
void gauge_hint(struct gauge *gauge, mtime now)
{
	if (gauge->state == GAUGE_RESTS && gauge->next_at > mtime_after(now, GAUGE_EVERY))
		gauge->next_at -= GAUGE_MISSING - GAUGE_EVERY;
}

mtime gauge_deadline(const struct gauge *gauge)
{
	return gauge->state == GAUGE_RESTS ? gauge->next_at : MTIME_NEVER;
}

void gauge_tick(struct gauge *gauge, mtime now)
{
	if (now < gauge_deadline(gauge))
		return;
	if (channel_is_open(gauge->connection, gauge->channel)) {
		ask(gauge);
	} else {
		channel_open(gauge->connection, gauge->channel);
		gauge->state = GAUGE_OPENS;
	}
}
