#include "cli/links.h"

#include "base/crash_point.h"
#include "io/clock.h"

#include <stdlib.h>

#define OUTPUT_LIMIT                                                                               \
	((size_t)1 << 30) /* what a connection may owe its socket before it is given up */
/* More than any broker lets through: an oversized body is to reach the dead letters, not to end the
 * connection. */
#define BODY_LIMIT ((uint64_t)512 * 1024 * 1024)

static struct station *station_of(struct links *links, uint16_t channel)
{
	return channel > 0 ? fleet_at(links->fleet, channel - 1u) : NULL;
}

/* A pool without a channel would wait in silence. */
static void check_channels(const struct links *links, const struct connection *connection)
{
	if (links->fleet->count > connection_channel_max(connection))
		log_error(
			"the broker allows %u channels a connection, %u pools want one; the last ones "
			"wait (raise its channel_max, or run more supervisors)",
			connection_channel_max(connection), links->fleet->count);
}

static void count_up(struct link_count *count)
{
	count->is_up = true;
	count->ups++;
}

static void on_consume_up(void *ctx, struct connection *connection)
{
	struct links *links = ctx;
	struct station *station;

	count_up(&links->consumes);
	check_channels(links, connection);
	for (size_t i = 0; (station = fleet_next(links->fleet, &i));)
		consumer_up(station_consumer(station), connection, clock_now());
}

static void on_consume_down(void *ctx, bool by_error)
{
	struct links *links = ctx;
	struct station *station;

	(void)by_error;
	links->consumes.is_up = false;
	for (size_t i = 0; (station = fleet_next(links->fleet, &i));)
		consumer_down(station_consumer(station), clock_now());
}

static void on_consume_event(void *ctx, const struct amqp_event *event)
{
	struct station *station = station_of(ctx, event->channel);

	if (station)
		consumer_on_event(station_consumer(station), event, clock_now());
}

static uint8_t *on_consume_memory(
	void *ctx, uint16_t channel, bool is_return, size_t len, void **ret_owner)
{
	struct station *station = station_of(ctx, channel);

	(void)is_return;
	return station ? consumer_content_memory(station_consumer(station), len, ret_owner) : NULL;
}

static void on_consume_dropped(void *ctx, void *owner)
{
	(void)ctx;
	delivery_free(owner);
}

static void on_publish_up(void *ctx, struct connection *connection)
{
	struct links *links = ctx;
	struct station *station;

	count_up(&links->publishes);
	for (size_t i = 0; (station = fleet_next(links->fleet, &i));) {
		station_set_frame_max(station, connection_frame_max(connection));
		publisher_up(station_publisher(station), connection, clock_now());
	}
}

static void on_publish_down(void *ctx, bool by_error)
{
	struct links *links = ctx;
	enum outbox_loss loss;
	struct station *station;
	size_t publishing = 0;

	links->publishes.is_up = links->is_blocked = false;
	for (size_t i = 0; (station = fleet_next(links->fleet, &i));)
		publishing += publisher_is_publishing(station_publisher(station));
	loss = publisher_loss(by_error, publishing);
	for (size_t i = 0; (station = fleet_next(links->fleet, &i));)
		publisher_down(station_publisher(station), loss, clock_now());
}

static void note_blocked(struct links *links, const struct amqp_event *event)
{
	links->is_blocked = event->kind == AMQP_BLOCKED;
	if (links->is_blocked)
		log_warn("the broker takes no publishes for now (%.*s); replies and copies wait, "
			 "their tasks stay unacked",
			TEXT_ARGS(event->text));
	else
		log_info("the broker takes publishes again");
}

static void on_publish_event(void *ctx, const struct amqp_event *event)
{
	struct station *station = station_of(ctx, event->channel);

	if (event->kind == AMQP_BLOCKED || event->kind == AMQP_UNBLOCKED)
		note_blocked(ctx, event);
	else if (station)
		publisher_on_event(station_publisher(station), event, clock_now());
}

static uint8_t *on_publish_memory(
	void *ctx, uint16_t channel, bool is_return, size_t len, void **ret_owner)
{
	(void)ctx;
	(void)channel;
	(void)is_return;
	return publisher_content_memory(len, ret_owner);
}

static void on_publish_dropped(void *ctx, void *owner)
{
	(void)ctx;
	free(owner);
}

static void tell_when_both_ended(struct links *links)
{
	if (links->consume_ended && links->publish_ended)
		links->on_closed(links->ctx);
}

static void on_consume_end(void *ctx, const char *why)
{
	struct links *links = ctx;

	(void)why;
	links->consume_ended = true;
	tell_when_both_ended(links);
}

static void on_publish_end(void *ctx, const char *why)
{
	struct links *links = ctx;

	(void)why;
	links->publish_ended = true;
	tell_when_both_ended(links);
}

static const struct uplink_handler consume_handler = {
	.on_up = on_consume_up,
	.on_down = on_consume_down,
	.on_event = on_consume_event,
	.content_memory = on_consume_memory,
	.content_dropped = on_consume_dropped,
	.on_end = on_consume_end,
};

static const struct uplink_handler publish_handler = {
	.on_up = on_publish_up,
	.on_down = on_publish_down,
	.on_event = on_publish_event,
	.content_memory = on_publish_memory,
	.content_dropped = on_publish_dropped,
	.on_end = on_publish_end,
};

bool links_open(struct links *links, struct ev_loop *loop, const struct config *config)
{
	struct uplink_config uplink = {
		.hosts = config->hosts,
		.host_count = config->host_count,
		.heartbeat = config->heartbeat,
		.output_limit = OUTPUT_LIMIT,
		.body_limit = BODY_LIMIT,
		.voice = &links->voice,
	};

	uplink.name = "consume";
	links->consume = uplink_new(loop, &uplink, &consume_handler, links);
	uplink.name = "publish";
	links->publish = uplink_new(loop, &uplink, &publish_handler, links);
	return links->consume && links->publish;
}

void links_flush(struct links *links)
{
	CRASH_POINT("before-flush");
	uplink_flush(links->consume);
	CRASH_POINT("acks-flushed");
	uplink_flush(links->publish);
	CRASH_POINT("copies-flushed");
}

void links_close(struct links *links)
{
	uplink_close(links->consume);
	uplink_close(links->publish);
}

void links_release(struct links *links)
{
	uplink_free(links->consume);
	uplink_free(links->publish);
}

static struct link_facts facts_of(const struct link_count *count, const struct uplink *uplink)
{
	return (struct link_facts){.is_up = count->is_up,
		.reconnects = count->ups > 0 ? count->ups - 1 : 0,
		.failure = uplink_failure(uplink)};
}

struct link_facts links_consume_facts(const struct links *links)
{
	return facts_of(&links->consumes, links->consume);
}

struct link_facts links_publish_facts(const struct links *links)
{
	return facts_of(&links->publishes, links->publish);
}
