#include "broker/subscriptions.h"

#include <assert.h>
#include <stdio.h>

/* The tags sort by age, also as text: in this order a quorum queue takes back the unacked messages
 * when the channel ends. */
static struct text tag_of(char *buffer, size_t size, uint32_t generation)
{
	int len = snprintf(buffer, size, "wpool-%010u", generation);

	return text_of(buffer, (size_t)len);
}

void subscriptions_clear(struct subscriptions *subscriptions)
{
	subscriptions->count = 0;
	subscriptions->synced = 0;
}

uint32_t subscriptions_window(const struct subscriptions *subscriptions)
{
	uint32_t window = 0;

	for (unsigned i = 0; i < subscriptions->count; i++)
		window += subscriptions->live[i].window;
	return window;
}

static void add_subscription(struct subscriptions *subscriptions, struct connection *connection,
	uint16_t channel, struct text queue, uint16_t window)
{
	struct subscription *latest = &subscriptions->live[subscriptions->count];
	char buffer[32];

	assert(subscriptions->count < SUBSCRIPTIONS_PLACES);
	subscriptions->count++;
	*latest = (struct subscription){++subscriptions->generation, window};
	channel_qos(connection, channel, latest->window);
	channel_consume(connection, channel, queue,
		tag_of(buffer, sizeof buffer, latest->generation), false);
}

void subscriptions_widen(struct subscriptions *subscriptions, struct connection *connection,
	uint16_t channel, struct text queue, uint32_t window)
{
	uint32_t missing = window - subscriptions_window(subscriptions);

	assert(missing > 0 && missing <= window && missing <= UINT16_MAX);
	add_subscription(subscriptions, connection, channel, queue, (uint16_t)missing);
}

void subscriptions_narrow(
	const struct subscriptions *subscriptions, struct connection *connection, uint16_t channel)
{
	char buffer[32];

	assert(subscriptions->count > 0);
	channel_cancel(connection, channel,
		tag_of(buffer, sizeof buffer,
			subscriptions->live[subscriptions->count - 1].generation));
}

bool subscriptions_drop(struct subscriptions *subscriptions, struct text tag)
{
	char buffer[32];

	for (unsigned i = 0; i < subscriptions->count; i++) {
		struct subscription *one = &subscriptions->live[i];

		if (!text_is(tag, tag_of(buffer, sizeof buffer, one->generation)))
			continue;
		subscriptions->count--;
		memmove(one, one + 1, (subscriptions->count - i) * sizeof *one);
		return true;
	}
	return false;
}

bool subscriptions_synchronize(struct subscriptions *subscriptions, struct connection *connection,
	uint16_t channel, struct text queue)
{
	if (subscriptions->synced == SUBSCRIPTIONS_SYNC_STEPS)
		return false;
	subscriptions->synced++;
	add_subscription(subscriptions, connection, channel, queue, 1);
	return true;
}
