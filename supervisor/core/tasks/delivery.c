#include "core/tasks/delivery.h"

#include <stdlib.h>

struct delivery *delivery_new(size_t size)
{
	if (size > SIZE_MAX - sizeof(struct delivery))
		return NULL;
	struct delivery *delivery = malloc(sizeof *delivery + size);
	if (!delivery)
		return NULL;
	*delivery = (struct delivery){.soft_ms = -1, .slot = -1, .size = size};
	list_init(&delivery->place);
	list_init(&delivery->unacked);
	list_init(&delivery->released);
	list_init(&delivery->in_lane);
	list_init(&delivery->begun);
	list_init(&delivery->parcel.order);
	delivery->parcel.delivery = delivery;
	return delivery;
}

void delivery_free(struct delivery *delivery)
{
	if (!delivery)
		return;
	output_free(delivery->parcel.output);
	if (delivery->progress)
		output_free(delivery->progress);
	if (delivery->rest)
		output_free(delivery->rest);
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

struct text delivery_name(const struct delivery *delivery, char buffer[DELIVERY_NAME_SIZE])
{
	bool is_correlated = delivery->correlation_id.len > 0;
	struct text id = is_correlated ? delivery->correlation_id : delivery->message_id;
	if (id.len == 0) {
		id = text_decimal(delivery->tag, buffer + 1);
		buffer[DELIVERY_NAME_SIZE - 1 - id.len] = '#';
		return text_of(buffer + DELIVERY_NAME_SIZE - 1 - id.len, id.len + 1);
	}
	return text_of(id.ptr, id.len < DELIVERY_NAME_MAX ? id.len : DELIVERY_NAME_MAX);
}

size_t delivery_size(const struct delivery *delivery)
{
	size_t rest = delivery->rest ? output_size(delivery->rest) : 0;
	return sizeof *delivery + delivery->size + rest;
}
