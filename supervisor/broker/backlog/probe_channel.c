#include "broker/backlog/probe_channel.h"

void probe_channel_up(
	struct probe_channel *channel, struct connection *connection, uint16_t number, mtime now)
{
	if (number > connection_channel_max(connection))
		return;
	channel->connection = connection;
	channel->number = number;
	probe_channel_rest(channel, now, PROBE_FIRST);
}

void probe_channel_down(struct probe_channel *channel)
{
	channel->connection = NULL;
	channel->state = PROBE_OFFLINE;
}

void probe_channel_rest(struct probe_channel *channel, mtime now, mtime span)
{
	channel->state = PROBE_RESTS;
	channel->next_at = mtime_after(now, span);
}

mtime probe_channel_deadline(const struct probe_channel *channel)
{
	return channel->state == PROBE_RESTS ? channel->next_at : MTIME_NEVER;
}

bool probe_channel_open(struct probe_channel *channel)
{
	bool is_open = channel_is_open(channel->connection, channel->number);

	channel->state = is_open ? PROBE_AWAITS : PROBE_OPENS;
	if (!is_open)
		channel_open(channel->connection, channel->number);
	return is_open;
}

void probe_channel_close(struct probe_channel *channel)
{
	channel->state = PROBE_CLOSES;
	channel_close(channel->connection, channel->number);
}
