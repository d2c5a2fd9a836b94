#include "core/tasks/delivery.h"

#include <stdlib.h>

struct delivery *delivery_new(size_t room)
{
	if (room > SIZE_MAX - sizeof(struct delivery))
		return NULL;
	struct delivery *delivery = malloc(sizeof *delivery + room);
	if (!delivery)
		return NULL;
	*delivery = (struct delivery){.soft_ms = -1, .slot = -1, .room = room};
	list_init(&delivery->place);
	list_init(&delivery->unacked);
	list_init(&delivery->released);
	list_init(&delivery->parcel.order);
	delivery->parcel.delivery = delivery;
	return delivery;
}

void delivery_free(struct delivery *delivery)
{
	if (!delivery)
		return;
	output_free(delivery->parcel.output);
	delivery->is_freed = true;
	if (delivery->holds == 0)
		free(delivery);
}

void delivery_hold(struct delivery *delivery)
{
	delivery->holds++;
}

void delivery_release(struct delivery *delivery)
{
	delivery->holds--;
	if (delivery->is_freed && delivery->holds == 0)
		free(delivery);
}

struct text delivery_name(const struct delivery *delivery, char room[DELIVERY_NAME_ROOM])
{
	bool is_correlated = delivery->correlation_id.len > 0;
	struct text id = is_correlated ? delivery->correlation_id : delivery->message_id;
	if (id.len == 0) {
		id = text_decimal(delivery->tag, room + 1);
		room[DELIVERY_NAME_ROOM - 1 - id.len] = '#';
		return text_of(room + DELIVERY_NAME_ROOM - 1 - id.len, id.len + 1);
	}
	return text_of(id.ptr, id.len < DELIVERY_NAME_MAX ? id.len : DELIVERY_NAME_MAX);
}

size_t delivery_size(const struct delivery *delivery)
{
	return sizeof *delivery + delivery->room;
}
