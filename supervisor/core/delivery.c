#include "core/delivery.h"

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
	free(delivery);
}

size_t delivery_size(const struct delivery *delivery)
{
	return sizeof *delivery + delivery->room;
}
