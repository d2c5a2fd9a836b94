#include "broker/backlog/wait_probe.h"

#include "message/retry_queue.h"

void wait_probe_init(struct wait_probe *probe, struct text queue)
{
	*probe = (struct wait_probe){.queue = queue, .known_at = MTIME_NEVER};
}

void wait_probe_up(
	struct wait_probe *probe, struct connection *connection, uint16_t channel, mtime now)
{
	probe_channel_up(&probe->channel, connection, channel, now);
}

void wait_probe_down(struct wait_probe *probe)
{
	probe_channel_down(&probe->channel);
	probe->known_at = MTIME_NEVER;
}

/* ---------- a round ---------- */

static void end_round(struct wait_probe *probe, mtime now)
{
	probe->total = 0;
	for (size_t i = 0; i < wait_step_count; i++)
		probe->total += probe->messages[i];
	probe->known_at = now;
	probe_channel_rest(&probe->channel, now, PROBE_EVERY);
}

/* A queue whose name would be too long cannot exist. */
static bool is_asked(const struct wait_probe *probe, size_t at, char *name, size_t size)
{
	return !(probe->missing & UINT32_C(1) << at) &&
	       wait_queue_name(probe->queue, wait_steps[at], name, size).len > 0;
}

/* Ask for the queue at probe->at, or the next one that may exist. */
static void ask_next(struct wait_probe *probe, mtime now)
{
	char name[RETRY_QUEUE_NAME_MAX + 1];

	while (probe->at < wait_step_count && !is_asked(probe, probe->at, name, sizeof name))
		probe->messages[probe->at++] = 0;
	if (probe->at == wait_step_count)
		end_round(probe, now);
	else if (probe_channel_open(&probe->channel))
		channel_declare_queue(probe->channel.connection, probe->channel.number,
			&(struct amqp_queue){.name = text_from(name), .passive = true});
}

static void on_answer(struct wait_probe *probe, uint32_t messages, mtime now)
{
	probe->messages[probe->at++] = messages;
	ask_next(probe, now);
}

/* Without an open request it is no answer: the next round opens the channel again. */
static void on_closed(struct wait_probe *probe, mtime now)
{
	if (probe->channel.state == PROBE_OPENS) {
		probe_channel_rest(&probe->channel, now, PROBE_MISSING);
		return;
	}
	if (probe->channel.state != PROBE_AWAITS)
		return;
	probe->missing |= UINT32_C(1) << probe->at;
	on_answer(probe, 0, now);
}

void wait_probe_on_event(struct wait_probe *probe, const struct amqp_event *event, mtime now)
{
	if (event->kind == AMQP_CHANNEL_OPENED && probe->channel.state == PROBE_OPENS)
		ask_next(probe, now);
	else if (event->kind == AMQP_QUEUE_DECLARED && probe->channel.state == PROBE_AWAITS)
		on_answer(probe, event->messages, now);
	else if (event->kind == AMQP_CHANNEL_CLOSED)
		on_closed(probe, now);
}

void wait_probe_hint(struct wait_probe *probe, uint32_t steps)
{
	probe->hinted |= steps;
}

mtime wait_probe_deadline(const struct wait_probe *probe)
{
	return probe_channel_deadline(&probe->channel);
}

void wait_probe_tick(struct wait_probe *probe, mtime now)
{
	if (now < wait_probe_deadline(probe))
		return;
	if ((probe->missing & probe->hinted) && now >= probe->again_after) {
		probe->missing &= ~probe->hinted;
		probe->hinted = 0;
		probe->again_after = mtime_after(now, PROBE_MISSING);
	}
	probe->at = 0;
	ask_next(probe, now);
}
