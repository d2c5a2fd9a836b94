/* The fake broker: acks, nacks and rejects. A channel sends a limited number of them to a quorum
 * queue and holds the others until the queue has logged these; then it sends all that it held.
 * basic.consume is answered after those that were sent, a passive declare is not. When the channel
 * ends, the held ones are lost, and the sent ones are not. */
#include "sim/broker_internal.h"

#define LATE 900 /* of a thousand times, those in which the queue is busy */

void broker_log_late(struct broker *broker, uint32_t limit)
{
	broker->commands_limit = limit;
}

bool broker_is_logging(const struct broker *broker)
{
	for (const struct link *link = broker->connections.next; link != &broker->connections;
		link = link->next) {
		const struct broker_connection *connection =
			CONTAINER_OF(link, struct broker_connection, place);

		for (uint16_t i = 1; i < connection->channel_count; i++)
			if (connection->channels[i].logged < connection->channels[i].sent_on)
				return true;
	}
	return false;
}

static struct stored *stored_at(struct link *link)
{
	return CONTAINER_OF(link, struct stored, place);
}

/* ---------- what a queue does ---------- */

/* RabbitMQ 3.10 counts a message that was returned too often as two settled ones of the consumer.
 */
static void requeue(struct broker *broker, struct stored *stored)
{
	struct consumer_entry *entry = stored->consumer;

	if (!queue_requeue(broker, stored, REQUEUE_ASKED) && broker->release->limit_pays_twice &&
		entry->prefetch < UINT32_MAX)
		entry->prefetch++;
}

static void carry_out(struct broker *broker, struct stored *stored, bool ack, bool requeues)
{
	const struct broker_watch *watch = broker->watch;
	uint64_t instance = stored->instance;
	bool is_gone = requeues && stored->queue->deleted;

	if (requeues) {
		requeue(broker, stored);
	} else if (ack) {
		queue_forget(stored);
	} else {
		queue_take(stored);
		dead_letter(broker, stored, "rejected");
	}
	if (!is_gone)
		watch->on_settled(watch->ctx, instance, ack, requeues);
}

/* ---------- its log ---------- */

/* Up to that command. */
static void log_commands(
	struct broker_connection *connection, struct broker_channel *channel, uint64_t last)
{
	struct link *link;

	while ((link = list_first(&channel->settling)) && stored_at(link)->command <= last)
		carry_out(connection->broker, stored_at(link), stored_at(link)->is_acked,
			stored_at(link)->is_given_back);
	channel->logged = last;
}

static void send_kept(struct broker_channel *channel)
{
	channel->sent_on = channel->commands;
}

static void take_command(const struct broker *broker, struct broker_channel *channel)
{
	bool keeps = channel->sent_on < channel->commands;

	channel->commands++;
	if (!keeps && channel->sent_on - channel->logged < broker->commands_limit)
		channel->sent_on = channel->commands;
}

void settle_log_some(struct broker_connection *connection, uint16_t number, bool generous)
{
	struct broker_channel *channel = &connection->channels[number];
	struct random *random = connection->broker->random;
	uint32_t waiting = (uint32_t)(channel->sent_on - channel->logged);

	if (random_chance(random, LATE))
		return;
	if (!generous)
		waiting = 1 + random_below(random, waiting);
	log_commands(connection, channel, channel->logged + waiting);
	send_kept(channel);
}

void settle_synchronize(struct broker_connection *connection, uint16_t number)
{
	struct broker_channel *channel = &connection->channels[number];

	log_commands(connection, channel, channel->sent_on);
	send_kept(channel);
}

/* Kept ones are unacked again, in order of their tags. */
void settle_end(struct broker_connection *connection, uint16_t number)
{
	struct broker_channel *channel = &connection->channels[number];
	struct link *link;

	log_commands(connection, channel, channel->sent_on);
	while ((link = list_first(&channel->settling))) {
		struct link *where = channel->unacked.next;

		while (where != &channel->unacked && stored_at(where)->tag < stored_at(link)->tag)
			where = where->next;
		list_remove(link);
		list_insert_before(where, link);
	}
}

/* ---------- what a client says ---------- */

static void settle(struct broker_connection *connection, struct broker_channel *channel,
	struct stored *stored, const struct settlement *settlement)
{
	if (!connection->broker->commands_limit || !stored->queue->arguments.quorum) {
		carry_out(connection->broker, stored, settlement->ack, settlement->requeue);
		return;
	}
	stored->command = channel->commands;
	stored->is_acked = settlement->ack;
	stored->is_given_back = settlement->requeue;
	list_remove(&stored->place);
	list_append(&channel->settling, &stored->place);
}

static bool is_unacked(const struct broker_channel *channel, uint64_t tag)
{
	for (struct link *link = channel->unacked.next; link != &channel->unacked;
		link = link->next)
		if (stored_at(link)->tag == tag)
			return true;
	return false;
}

/* With multiple, tag 0 means all. */
void settle_on_method(
	struct broker_connection *connection, uint16_t number, const struct settlement *settlement)
{
	struct broker_channel *channel = &connection->channels[number];
	struct link *link = channel->unacked.next;
	uint64_t tag = settlement->tag;
	bool all = tag == 0 && settlement->multiple;

	sim_require(connection->broker->answers_mistakes || tag > 0, "a settlement of tag 0");
	if (!all && !is_unacked(channel, tag)) {
		sim_require(connection->broker->answers_mistakes,
			"unknown delivery tag %llu on channel %u", (unsigned long long)tag, number);
		channel_fail(connection, number, 406, settlement->cause,
			"PRECONDITION_FAILED - unknown delivery tag");
		return;
	}
	take_command(connection->broker, channel);
	while (link != &channel->unacked) {
		struct stored *stored = stored_at(link);

		link = link->next;
		if (all || stored->tag == tag || (settlement->multiple && stored->tag < tag))
			settle(connection, channel, stored, settlement);
	}
}
