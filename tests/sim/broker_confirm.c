/* The fake broker's confirms: late, out of order, multiple. */
#include "sim/broker_internal.h"

#include <stdlib.h>

static void send_confirm(struct broker_connection *connection, uint16_t number,
	const struct owed_confirm *owed, bool multiple)
{
	amqp_basic_ack_t ack = {.delivery_tag = owed->seq, .multiple = multiple};
	amqp_basic_nack_t nack = {.delivery_tag = owed->seq, .multiple = multiple};

	if (owed->fate != PUBLISH_REFUSED)
		peer_send_method(&connection->out, number, AMQP_BASIC_ACK_METHOD, &ack);
	else
		peer_send_method(&connection->out, number, AMQP_BASIC_NACK_METHOD, &nack);
}

static void pay(struct broker_connection *connection, struct owed_confirm *owed)
{
	const struct broker_watch *watch = connection->broker->watch;

	watch->on_confirm(watch->ctx, owed->instance, owed->fate);
	list_remove(&owed->place);
	free(owed);
}

/* The first so many, as far as all are positive, or none is, by one word with multiple. */
static void confirm_together(struct broker_connection *connection, uint16_t number, uint32_t count)
{
	struct link *owed = &connection->channels[number].owed;
	struct owed_confirm *last = NULL;
	struct link *link = owed->next;

	for (; count > 0 && link != owed; count--, link = link->next) {
		struct owed_confirm *one = CONTAINER_OF(link, struct owed_confirm, place);

		if (last && (one->fate == PUBLISH_REFUSED) != (last->fate == PUBLISH_REFUSED))
			break;
		last = one;
	}
	if (!last)
		return;
	send_confirm(connection, number, last, true);
	while (list_first(owed) != &last->place)
		pay(connection, CONTAINER_OF(list_first(owed), struct owed_confirm, place));
	pay(connection, last);
}

void confirm_some(struct broker_connection *connection, uint16_t number, bool generous)
{
	struct random *random = connection->broker->random;
	struct link *owed = &connection->channels[number].owed;
	struct link *link;

	if (!generous && random_chance(random, 300))
		confirm_together(connection, number, 1 + random_below(random, 6));
	for (link = owed->next; link != owed;) {
		struct owed_confirm *one = CONTAINER_OF(link, struct owed_confirm, place);

		link = link->next;
		if (!generous && !random_chance(random, 250))
			continue;
		send_confirm(connection, number, one, false);
		pay(connection, one);
	}
}
