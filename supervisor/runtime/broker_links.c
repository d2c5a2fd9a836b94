#include "runtime/broker_links.h"

#include "base/crash_point.h"
#include "base/utf8.h"
#include "net/certificate_end.h"
#include "net/tls.h"
#include "os/clock.h"

#include <stdlib.h>
#include <string.h>

/* A connection with more pending output is closed. */
#define OUTPUT_LIMIT ((size_t)1 << 30)
/* More than any broker allows: an oversized body must reach the dead letters instead of ending
 * the connection. */
#define BODY_LIMIT ((uint64_t)512 * 1024 * 1024)

/* ---------- channels of the publish connection ---------- */

/* The lowest one that is free; 0: there is none. */
static uint16_t take_channel(struct broker_links *broker_links, struct pool_runtime *runtime)
{
	const struct connection *connection = broker_links->publishes_by;

	for (uint16_t number = 1; number <= connection_channel_max(connection); number++) {
		if (broker_links->channels[number] || !channel_is_closed(connection, number))
			continue;
		broker_links->channels[number] = runtime;
		return number;
	}
	return 0;
}

static void start_publisher(struct broker_links *broker_links, struct pool_runtime *runtime)
{
	struct connection *connection = broker_links->publishes_by;

	if (runtime->publish_channel > 0)
		return;
	pool_runtime_set_frame_max(runtime, connection_frame_max(connection));
	runtime->publish_channel = take_channel(broker_links, runtime);
	if (runtime->publish_channel > 0)
		publisher_up(runtime->publisher, connection, runtime->publish_channel, clock_now());
}

static void start_token(struct broker_links *broker_links, struct pool_runtime *runtime)
{
	if (!runtime->token.channel || runtime->token_channel > 0)
		return;
	runtime->token_channel = take_channel(broker_links, runtime);
	if (runtime->token_channel > 0)
		token_channel_publish_up(
			runtime->token.channel, broker_links->publishes_by, runtime->token_channel);
}

/* Give channels to those that have none: first to pools, then to their tokens. leaving: gets none;
 * or NULL. */
static void start_channels(struct broker_links *broker_links, const struct pool_runtime *leaving)
{
	struct pool_runtime *runtime;

	for (size_t i = 0; (runtime = pool_set_next(broker_links->pool_set, &i));)
		if (runtime != leaving)
			start_publisher(broker_links, runtime);
	for (size_t i = 0; (runtime = pool_set_next(broker_links->pool_set, &i));)
		if (runtime != leaving)
			start_token(broker_links, runtime);
}

static void log_missing(const struct broker_links *broker_links, const struct pool_runtime *runtime)
{
	unsigned max = connection_channel_max(broker_links->publishes_by);

	if (runtime->publish_channel == 0)
		log_error("pool %s: the broker allows %u channels a connection, which leaves none "
			  "for its publishes: they wait, and their tasks stay unacked (raise its "
			  "channel_max, or run more supervisors)",
			runtime->config.name, max);
	else if (runtime->token.channel && runtime->token_channel == 0)
		log_error("pool %s: the broker allows %u channels a connection, which leaves none "
			  "for its token: it stays a standby (raise its channel_max)",
			runtime->config.name, max);
}

/* A channel that is still open is closed; until then it is not free. */
static void give_channel_back(struct broker_links *broker_links, uint16_t *number)
{
	if (*number == 0)
		return;
	channel_close(broker_links->publishes_by, *number);
	broker_links->channels[*number] = NULL;
	*number = 0;
}

/* ---------- the publish connection ---------- */

static void on_publish_up(void *ctx, struct connection *connection)
{
	struct broker_links *broker_links = ctx;
	struct pool_runtime *runtime;

	broker_links->publishes_by = connection;
	broker_links->publish_ups++;
	start_channels(broker_links, NULL);
	for (size_t i = 0; (runtime = pool_set_next(broker_links->pool_set, &i));)
		log_missing(broker_links, runtime);
}

static void on_publish_down(void *ctx, bool by_error)
{
	struct broker_links *broker_links = ctx;
	enum outbox_loss loss;
	struct pool_runtime *runtime;
	size_t publishing = 0;

	broker_links->publishes_by = NULL;
	broker_links->is_blocked = false;
	for (size_t i = 0; (runtime = pool_set_next(broker_links->pool_set, &i));)
		publishing += publisher_is_publishing(runtime->publisher);
	loss = publisher_loss(by_error, publishing);
	for (size_t i = 0; (runtime = pool_set_next(broker_links->pool_set, &i));)
		publisher_down(runtime->publisher, loss, clock_now());
	for (size_t i = 0; (runtime = pool_set_next(broker_links->pool_set, &i));) {
		if (runtime->token.channel)
			token_channel_publish_down(runtime->token.channel);
		runtime->publish_channel = runtime->token_channel = 0;
	}
	memset(broker_links->channels, 0, sizeof broker_links->channels);
}

static void on_publish_channel_event(
	struct broker_links *broker_links, const struct amqp_event *event)
{
	struct pool_runtime *runtime = broker_links->channels[event->channel];

	if (runtime && event->channel == runtime->publish_channel)
		publisher_on_event(runtime->publisher, event, clock_now());
	else if (runtime)
		token_channel_on_publish_event(runtime->token.channel, event, clock_boot());
}

static void on_publish_event(void *ctx, const struct amqp_event *event)
{
	struct broker_links *broker_links = ctx;

	if (event->kind == AMQP_BLOCKED) {
		broker_links->is_blocked = true;
		log_warn("the broker takes no publishes for now (%s); replies and copies wait, "
			 "their tasks stay unacked",
			utf8_shown(event->text).text);
	} else if (event->kind == AMQP_UNBLOCKED) {
		broker_links->is_blocked = false;
		log_info("the broker takes publishes again");
	} else if (event->channel > 0) {
		on_publish_channel_event(broker_links, event);
	}
}

static void on_publish_end(void *ctx, const char *why)
{
	struct broker_links *broker_links = ctx;

	(void)why;
	broker_links->publish_ended = true;
}

static const struct broker_link_handler publish_handler = {
	.on_up = on_publish_up,
	.on_down = on_publish_down,
	.on_event = on_publish_event,
	.on_end = on_publish_end,
};

bool broker_links_open(
	struct broker_links *broker_links, struct ev_loop *loop, const struct config *config)
{
	struct broker_link_config publish;
	struct pool_runtime *runtime;

	broker_links->loop = loop;
	broker_links->shared = (struct broker_link_config){
		.hosts = config->hosts,
		.host_count = config->host_count,
		.heartbeat = config->heartbeat,
		.output_limit = OUTPUT_LIMIT,
		.body_limit = BODY_LIMIT,
		.log_dedup = &broker_links->log_dedup,
		.tls = calloc(config->host_count, sizeof *broker_links->shared.tls),
	};
	broker_links->ends = calloc(config->host_count, sizeof *broker_links->ends);
	if (!broker_links->shared.tls || !broker_links->ends)
		return false;
	for (size_t i = 0; (runtime = pool_set_next(broker_links->pool_set, &i));)
		if (!broker_links_connect(broker_links, runtime))
			return false;
	publish = broker_links->shared;
	publish.name = "publish";
	broker_links->publish = broker_link_new(loop, &publish, &publish_handler, broker_links);
	return broker_links->publish;
}

bool broker_links_connect(struct broker_links *broker_links, struct pool_runtime *runtime)
{
	if (!pool_runtime_connect(runtime, broker_links->loop, &broker_links->shared))
		return false;
	if (broker_links->publishes_by) {
		start_channels(broker_links, NULL);
		log_missing(broker_links, runtime);
	}
	return true;
}

void broker_links_flush(struct broker_links *broker_links)
{
	struct pool_runtime *runtime;

	CRASH_POINT("before-flush");
	for (size_t i = 0; (runtime = pool_set_next(broker_links->pool_set, &i));)
		consume_link_flush(runtime->consume_link);
	CRASH_POINT("acks-flushed");
	broker_link_flush(broker_links->publish);
	CRASH_POINT("copies-flushed");
}

void broker_links_close(struct broker_links *broker_links)
{
	struct pool_runtime *runtime;

	for (size_t i = 0; (runtime = pool_set_next(broker_links->pool_set, &i));)
		consume_link_close(runtime->consume_link);
	broker_link_close(broker_links->publish);
}

bool broker_links_are_closed(const struct broker_links *broker_links)
{
	struct pool_runtime *runtime;

	for (size_t i = 0; (runtime = pool_set_next(broker_links->pool_set, &i));)
		if (!consume_link_is_closed(runtime->consume_link))
			return false;
	return broker_links->publish_ended;
}

void broker_links_release(struct broker_links *broker_links)
{
	broker_link_free(broker_links->publish);
	for (size_t i = 0; broker_links->shared.tls && i < broker_links->shared.host_count; i++)
		tls_free(broker_links->shared.tls[i]);
	free(broker_links->shared.tls);
	free(broker_links->ends);
}

void broker_links_forget(struct broker_links *broker_links, struct pool_runtime *runtime)
{
	if (runtime->consume_link)
		broker_links->past_reconnects +=
			consume_link_facts(runtime->consume_link).reconnects;
	give_channel_back(broker_links, &runtime->publish_channel);
	give_channel_back(broker_links, &runtime->token_channel);
	if (broker_links->publishes_by)
		start_channels(broker_links, runtime);
}

/* Prefer the failure of a connection that is down. */
struct link_facts broker_links_consume_facts(const struct broker_links *broker_links)
{
	struct link_facts all = {.is_up = true,
		.reconnects = broker_links->past_reconnects,
		.failure = "",
		.failure_kind = ""};
	struct pool_runtime *runtime;

	for (size_t i = 0; (runtime = pool_set_next(broker_links->pool_set, &i));) {
		struct link_facts one = consume_link_facts(runtime->consume_link);
		all.reconnects += one.reconnects;
		if (pool_runtime_is_retiring(runtime))
			continue;
		if (*one.failure && (!*all.failure || (all.is_up && !one.is_up)))
			all.failure = one.failure, all.failure_kind = one.failure_kind;
		all.is_up = all.is_up && one.is_up;
	}
	return all;
}

bool broker_links_is_any_consume_up(const struct broker_links *broker_links)
{
	struct pool_runtime *runtime;

	for (size_t i = 0; (runtime = pool_set_next(broker_links->pool_set, &i));)
		if (consume_link_facts(runtime->consume_link).is_up)
			return true;
	return false;
}

struct link_facts broker_links_publish_facts(const struct broker_links *broker_links)
{
	return (struct link_facts){.is_up = broker_links->publishes_by,
		.reconnects = broker_links->publish_ups > 0 ? broker_links->publish_ups - 1 : 0,
		.failure = broker_link_failure(broker_links->publish),
		.failure_kind = broker_link_failure_kind_text(broker_links->publish)};
}

int64_t broker_links_certificate_end(const struct broker_links *broker_links)
{
	int64_t first = 0;

	for (size_t i = 0; i < broker_links->shared.host_count; i++) {
		const char *file = broker_links->shared.hosts[i].certfile;
		int64_t end = file ? certificate_end_read(&broker_links->ends[i], file) : 0;
		if (end > 0 && (first == 0 || end < first))
			first = end;
	}
	return first;
}
