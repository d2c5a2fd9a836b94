#include "cli/links.h"

#include "base/crash_point.h"
#include "io/clock.h"
#include "io/tls.h"

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

static void let_publish(const struct links *links, struct station *station)
{
	station_set_frame_max(station, connection_frame_max(links->publishes_by));
	publisher_up(station_publisher(station), links->publishes_by, clock_now());
}

static void on_publish_up(void *ctx, struct connection *connection)
{
	struct links *links = ctx;
	struct station *station;

	links->publishes_by = connection;
	links->publish_ups++;
	check_channels(links, connection);
	for (size_t i = 0; (station = fleet_next(links->fleet, &i));)
		let_publish(links, station);
}

static void on_publish_down(void *ctx, bool by_error)
{
	struct links *links = ctx;
	enum outbox_loss loss;
	struct station *station;
	size_t publishing = 0;

	links->publishes_by = NULL;
	links->is_blocked = false;
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

static void on_publish_end(void *ctx, const char *why)
{
	struct links *links = ctx;

	(void)why;
	links->publish_ended = true;
}

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
	struct uplink_config publish;
	struct station *station;

	links->loop = loop;
	links->shared = (struct uplink_config){
		.hosts = config->hosts,
		.host_count = config->host_count,
		.heartbeat = config->heartbeat,
		.output_limit = OUTPUT_LIMIT,
		.body_limit = BODY_LIMIT,
		.voice = &links->voice,
		.tls = calloc(config->host_count, sizeof *links->shared.tls),
	};
	if (!links->shared.tls)
		return false;
	for (size_t i = 0; (station = fleet_next(links->fleet, &i));)
		if (!links_connect(links, station))
			return false;
	publish = links->shared;
	publish.name = "publish";
	links->publish = uplink_new(loop, &publish, &publish_handler, links);
	return links->publish;
}

bool links_connect(struct links *links, struct station *station)
{
	if (!station_connect(station, links->loop, &links->shared))
		return false;
	if (links->publishes_by) {
		check_channels(links, links->publishes_by);
		let_publish(links, station);
	}
	return true;
}

void links_flush(struct links *links)
{
	struct station *station;

	CRASH_POINT("before-flush");
	for (size_t i = 0; (station = fleet_next(links->fleet, &i));)
		feed_flush(station_feed(station));
	CRASH_POINT("acks-flushed");
	uplink_flush(links->publish);
	CRASH_POINT("copies-flushed");
}

void links_close(struct links *links)
{
	struct station *station;

	for (size_t i = 0; (station = fleet_next(links->fleet, &i));)
		feed_close(station_feed(station));
	uplink_close(links->publish);
}

bool links_are_closed(const struct links *links)
{
	struct station *station;

	for (size_t i = 0; (station = fleet_next(links->fleet, &i));)
		if (!feed_is_closed(station_feed(station)))
			return false;
	return links->publish_ended;
}

void links_release(struct links *links)
{
	uplink_free(links->publish);
	for (size_t i = 0; links->shared.tls && i < links->shared.host_count; i++)
		tls_free(links->shared.tls[i]);
	free(links->shared.tls);
}

void links_part(struct links *links, const struct station *station)
{
	links->parted_reconnects += feed_facts(station_feed(station)).reconnects;
}

/* Of failures that of a connection that is down, where there is one. */
struct link_facts links_consume_facts(const struct links *links)
{
	struct link_facts all = {
		.is_up = true, .reconnects = links->parted_reconnects, .failure = ""};
	struct station *station;

	for (size_t i = 0; (station = fleet_next(links->fleet, &i));) {
		struct link_facts one = feed_facts(station_feed(station));
		all.reconnects += one.reconnects;
		if (station_is_leaving(station))
			continue;
		if (*one.failure && (!*all.failure || (all.is_up && !one.is_up)))
			all.failure = one.failure;
		all.is_up = all.is_up && one.is_up;
	}
	return all;
}

bool links_is_any_feed_up(const struct links *links)
{
	struct station *station;

	for (size_t i = 0; (station = fleet_next(links->fleet, &i));)
		if (feed_facts(station_feed(station)).is_up)
			return true;
	return false;
}

struct link_facts links_publish_facts(const struct links *links)
{
	return (struct link_facts){.is_up = links->publishes_by,
		.reconnects = links->publish_ups > 0 ? links->publish_ups - 1 : 0,
		.failure = uplink_failure(links->publish)};
}
