#include "cli/feed.h"

#include "io/clock.h"

#include <stdlib.h>

#define GAUGE_CHANNEL (FEED_CHANNEL + 1)

struct feed {
	struct uplink *uplink;
	struct consumer *consumer; /* borrowed */
	struct gauge gauge;
	bool is_up, is_closed;
	uint64_t ups; /* times it came up */
};

static void on_up(void *ctx, struct connection *connection)
{
	struct feed *feed = ctx;

	feed->is_up = true;
	feed->ups++;
	consumer_up(feed->consumer, connection, clock_now());
	gauge_up(&feed->gauge, connection, GAUGE_CHANNEL, clock_now());
}

static void on_down(void *ctx, bool by_error)
{
	struct feed *feed = ctx;

	(void)by_error;
	feed->is_up = false;
	consumer_down(feed->consumer, clock_now());
	gauge_down(&feed->gauge);
}

static void on_event(void *ctx, const struct amqp_event *event)
{
	struct feed *feed = ctx;

	if (event->channel == GAUGE_CHANNEL)
		gauge_on_event(&feed->gauge, event, clock_now());
	else if (event->channel != 0)
		consumer_on_event(feed->consumer, event, clock_now());
}

static uint8_t *on_memory(void *ctx, uint16_t channel, bool is_return, size_t len, void **ret_owner)
{
	struct feed *feed = ctx;

	(void)channel;
	(void)is_return;
	return consumer_content_memory(feed->consumer, len, ret_owner);
}

static void on_dropped(void *ctx, void *owner)
{
	(void)ctx;
	delivery_free(owner);
}

static void on_end(void *ctx, const char *why)
{
	struct feed *feed = ctx;

	(void)why;
	feed->is_closed = true;
}

static const struct uplink_handler handler = {
	.on_up = on_up,
	.on_down = on_down,
	.on_event = on_event,
	.content_memory = on_memory,
	.content_dropped = on_dropped,
	.on_end = on_end,
};

struct feed *feed_new(struct ev_loop *loop, const struct uplink_config *shared, const char *pool,
	struct text queue, struct consumer *consumer)
{
	struct uplink_config config = *shared;
	struct feed *feed = calloc(1, sizeof *feed);

	if (!feed)
		return NULL;
	feed->consumer = consumer;
	gauge_init(&feed->gauge, queue);
	config.name = "consume";
	config.pool = pool;
	feed->uplink = uplink_new(loop, &config, &handler, feed);
	if (feed->uplink)
		return feed;
	free(feed);
	return NULL;
}

void feed_free(struct feed *feed)
{
	if (!feed)
		return;
	uplink_free(feed->uplink);
	free(feed);
}

mtime feed_deadline(const struct feed *feed)
{
	return gauge_deadline(&feed->gauge);
}

void feed_tick(struct feed *feed, mtime now)
{
	if (consumer_is_consuming(feed->consumer))
		gauge_hint(&feed->gauge, now);
	gauge_tick(&feed->gauge, now);
}

const struct backlog *feed_backlog(const struct feed *feed)
{
	return feed->gauge.backlog.at == MTIME_NEVER ? NULL : &feed->gauge.backlog;
}

void feed_flush(struct feed *feed)
{
	uplink_flush(feed->uplink);
}

void feed_close(struct feed *feed)
{
	uplink_close(feed->uplink);
}

bool feed_is_closed(const struct feed *feed)
{
	return feed->is_closed;
}

struct link_facts feed_facts(const struct feed *feed)
{
	return (struct link_facts){.is_up = feed->is_up,
		.reconnects = feed->ups > 0 ? feed->ups - 1 : 0,
		.failure = uplink_failure(feed->uplink)};
}
