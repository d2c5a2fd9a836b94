#include "broker/backlog_probe.h"

static const struct backlog unknown = {.at = MTIME_NEVER};

void backlog_probe_init(struct backlog_probe *probe, struct text queue)
{
	*probe = (struct backlog_probe){.queue = queue, .backlog = unknown};
}

static void rest(struct backlog_probe *probe, mtime now, mtime span)
{
	probe->state = PROBE_RESTS;
	probe->next_at = mtime_after(now, span);
}

void backlog_probe_up(
	struct backlog_probe *probe, struct connection *connection, uint16_t channel, mtime now)
{
	if (channel > connection_channel_max(connection))
		return;
	probe->connection = connection;
	probe->channel = channel;
	rest(probe, now, PROBE_FIRST);
}

void backlog_probe_down(struct backlog_probe *probe)
{
	probe->connection = NULL;
	probe->state = PROBE_OFFLINE;
	probe->backlog = unknown;
	probe->is_crowded = false;
}

static void ask(struct backlog_probe *probe)
{
	struct amqp_queue declare = {.name = probe->queue, .passive = true};

	channel_declare_queue(probe->connection, probe->channel, &declare);
	probe->state = PROBE_AWAITS;
}

void backlog_probe_on_event(struct backlog_probe *probe, const struct amqp_event *event, mtime now)
{
	if (event->kind == AMQP_CHANNEL_OPENED && probe->state == PROBE_OPENS) {
		ask(probe);
	} else if (event->kind == AMQP_QUEUE_DECLARED && probe->state == PROBE_AWAITS) {
		bool is_crowded = event->consumers > 1;

		probe->backlog = (struct backlog){.messages = event->messages,
			.at = now,
			.is_shared = is_crowded && probe->is_crowded};
		probe->is_crowded = is_crowded;
		rest(probe, now, PROBE_EVERY);
	} else if (event->kind == AMQP_CHANNEL_CLOSED) {
		probe->backlog = unknown;
		rest(probe, now, PROBE_MISSING);
	}
}

/* Subtracts from the time that is set, so that requests which fail for another reason than a
 * missing queue still keep their interval. */
void backlog_probe_hint(struct backlog_probe *probe, mtime now)
{
	if (probe->state == PROBE_RESTS && probe->next_at > mtime_after(now, PROBE_EVERY))
		probe->next_at -= PROBE_MISSING - PROBE_EVERY;
}

mtime backlog_probe_deadline(const struct backlog_probe *probe)
{
	return probe->state == PROBE_RESTS ? probe->next_at : MTIME_NEVER;
}

void backlog_probe_tick(struct backlog_probe *probe, mtime now)
{
	if (now < backlog_probe_deadline(probe))
		return;
	if (channel_is_open(probe->connection, probe->channel)) {
		ask(probe);
	} else {
		channel_open(probe->connection, probe->channel);
		probe->state = PROBE_OPENS;
	}
}
