/* The fake broker's limits on what is unacked: for how long, and how often it may come back. */
#include "sim/broker_internal.h"

#define CHECK_EVERY MTIME_MINUTE

void broker_set_ack_timeout(struct broker *broker, mtime timeout)
{
	broker->ack_timeout = timeout;
	broker->is_changed = true;
}

static mtime check_interval(const struct broker *broker)
{
	return mtime_min(CHECK_EVERY, broker->ack_timeout / 10);
}

static bool is_overdue(const struct broker *broker, const struct broker_channel *channel)
{
	const struct link *oldest = channel->unacked.next;

	return oldest != &channel->unacked &&
	       broker->now - CONTAINER_OF(oldest, struct stored, place)->delivered_at >
		       broker->ack_timeout;
}

static void check_connection(struct broker_connection *connection)
{
	for (uint16_t i = 1; i < connection->channel_count; i++)
		if (is_overdue(connection->broker, &connection->channels[i]))
			channel_fail(connection, i, 406, 0,
				"PRECONDITION_FAILED - delivery acknowledgement timed out");
}

mtime timeout_next_check(const struct broker *broker)
{
	return broker->ack_timeout == MTIME_NEVER ? MTIME_NEVER : broker->next_check;
}

void timeout_check(struct broker *broker)
{
	if (broker->now < timeout_next_check(broker))
		return;
	broker->next_check = broker->now + check_interval(broker);
	for (struct link *link = broker->connections.next; link != &broker->connections;
		link = link->next)
		check_connection(CONTAINER_OF(link, struct broker_connection, place));
}

void broker_set_delivery_limit(struct broker *broker, const char *name, uint32_t returns)
{
	struct queue *queue = queue_find(broker, text_from(name));

	if (queue && queue->arguments.has_limit)
		queue->policy_limit = returns;
	else if (queue)
		queue->arguments.limit = returns ? (int64_t)returns : LIMIT_NONE;
}

bool limit_is_passed(struct broker *broker, const struct stored *stored)
{
	const struct queue *queue = stored->queue;
	bool is_passed =
		queue->arguments.limit != LIMIT_NONE && stored->returns > queue->arguments.limit;

	is_passed |= queue->policy_limit && stored->returns > queue->policy_limit;
	if (!queue->arguments.quorum || !is_passed)
		return false;
	sim_trace("broker: copy %llu came back %u times, over its limit",
		(unsigned long long)stored->instance, stored->returns);
	broker->watch->on_limit(broker->watch->ctx, stored->instance);
	return true;
}

size_t broker_unread(const struct broker_connection *connection)
{
	return buf_len(&connection->in);
}

bool broker_is_alarmed(const struct broker *broker)
{
	return broker->alarm;
}
