#include "runtime/throttles/throttle_link.h"

#include "base/utf8.h"
#include "broker/throttle/throttle_channel.h"

#include <stdlib.h>

struct throttle_link {
	struct ev_loop *loop;
	struct broker_link_config config;
	struct throttles *throttles;   /* borrowed */
	struct broker_link *link;      /* owned; NULL: there is no shared throttle */
	struct connection *connection; /* borrowed; NULL: offline */
	bool is_blocked, is_memory_logged, is_closing, is_closed, has_ended;
};

struct throttle_link *throttle_link_new(
	struct ev_loop *loop, const struct broker_link_config *shared, struct throttles *throttles)
{
	struct throttle_link *link = calloc(1, sizeof *link);

	if (!link)
		return NULL;
	link->loop = loop;
	link->config = *shared;
	link->config.name = "throttles";
	link->throttles = throttles;
	return link;
}

/* ---------- channels ---------- */

static struct named_throttle *shared_at(const struct throttle_link *link, size_t i)
{
	struct named_throttle *named = link->throttles->list[i];

	return named->channel ? named : NULL;
}

static struct named_throttle *throttle_of(const struct throttle_link *link, uint16_t number)
{
	for (size_t i = 0; i < link->throttles->count; i++) {
		struct named_throttle *named = shared_at(link, i);
		if (named && named->channel_number == number)
			return named;
	}
	return NULL;
}

/* A channel that a removed throttle had may still be closing. */
static uint16_t free_number(const struct throttle_link *link)
{
	uint16_t number = 1;

	while (throttle_of(link, number) || (number <= connection_channel_max(link->connection) &&
						    !channel_is_closed(link->connection, number)))
		number++;
	return number;
}

static void start(struct throttle_link *link, struct named_throttle *named)
{
	uint16_t number = free_number(link);

	if (number > connection_channel_max(link->connection)) {
		log_error("throttle %s: the broker allows %u channels a connection, which leaves "
			  "none for it: no task starts (raise its channel_max)",
			named->name, connection_channel_max(link->connection));
		number = UINT16_MAX;
	} else {
		throttle_channel_up(named->channel, link->connection, number);
	}
	named->channel_number = number;
}

static void start_new(struct throttle_link *link)
{
	for (size_t i = 0; link->connection && i < link->throttles->count; i++) {
		struct named_throttle *named = shared_at(link, i);
		if (named && named->channel_number == 0)
			start(link, named);
	}
}

/* ---------- the connection ---------- */

static void end_channels(struct throttle_link *link)
{
	link->connection = NULL;
	link->is_blocked = false;
	for (size_t i = 0; i < link->throttles->count; i++) {
		struct named_throttle *named = shared_at(link, i);
		if (!named)
			continue;
		throttle_channel_down(named->channel);
		named->channel_number = 0;
	}
}

void throttle_link_free(struct throttle_link *link)
{
	if (!link)
		return;
	end_channels(link);
	broker_link_free(link->link);
	free(link);
}

static void on_up(void *ctx, struct connection *connection)
{
	struct throttle_link *link = ctx;

	link->connection = connection;
}

static void on_down(void *ctx, bool by_error)
{
	(void)by_error;
	end_channels(ctx);
}

static void on_event(void *ctx, const struct amqp_event *event)
{
	struct throttle_link *link = ctx;
	struct named_throttle *named = throttle_of(link, event->channel);

	if (event->kind == AMQP_BLOCKED) {
		link->is_blocked = true;
		log_warn("the broker takes no requests of throttles for now (%s): tasks of those "
			 "with scope: cluster do not start",
			utf8_shown(event->text).text);
	} else if (event->kind == AMQP_UNBLOCKED) {
		link->is_blocked = false;
		log_info("the broker takes requests of throttles again");
	} else if (event->channel != 0 && named) {
		throttle_channel_on_event(named->channel, event, throttles_now());
	}
	free(event->content.owner);
}

static void on_end(void *ctx, const char *why)
{
	struct throttle_link *link = ctx;

	(void)why;
	link->has_ended = true;
}

static const struct broker_link_handler handler = {
	.on_up = on_up,
	.on_down = on_down,
	.on_event = on_event,
	.on_end = on_end,
};

/* ---------- turns ---------- */

/* The broker reads what is sent. */
static bool may_ask(const struct throttle_link *link)
{
	return link->connection && !link->is_blocked &&
	       buf_len(connection_output(link->connection)) == 0;
}

static bool has_shared(const struct throttle_link *link)
{
	for (size_t i = 0; i < link->throttles->count; i++)
		if (shared_at(link, i))
			return true;
	return false;
}

static void open_link(struct throttle_link *link)
{
	link->link = broker_link_new(link->loop, &link->config, &handler, link);
	if (!link->link && !link->is_memory_logged)
		log_error("out of memory: no connection for throttles with scope: cluster; trying "
			  "again");
	link->is_memory_logged = !link->link;
}

/* Those that lead hand over first. */
static void close_when_left(struct throttle_link *link)
{
	for (size_t i = 0; i < link->throttles->count; i++) {
		struct named_throttle *named = shared_at(link, i);
		if (named && !throttle_channel_has_left(named->channel))
			return;
	}
	if (!link->is_closed)
		broker_link_close(link->link);
	link->is_closed = true;
}

void throttle_link_turn(struct throttle_link *link)
{
	mtime now;
	bool asks;

	if (!link->link && !link->is_closing && has_shared(link))
		open_link(link);
	if (!link->link)
		return;
	now = throttles_now();
	start_new(link);
	broker_link_flush(link->link);
	asks = may_ask(link);
	for (size_t i = 0; i < link->throttles->count; i++) {
		struct named_throttle *named = shared_at(link, i);
		if (!named)
			continue;
		throttle_channel_tick(named->channel, asks, now);
		named->is_blocked = link->is_blocked;
		throttles_follow(link->throttles, named, now);
	}
	if (link->is_closing)
		close_when_left(link);
	broker_link_flush(link->link);
}

mtime throttle_link_wait(const struct throttle_link *link)
{
	mtime deadline = MTIME_NEVER;
	bool asks = may_ask(link);

	for (size_t i = 0; i < link->throttles->count; i++) {
		const struct named_throttle *named = shared_at(link, i);
		if (named)
			deadline = mtime_min(
				deadline, throttle_channel_deadline(named->channel, asks));
	}
	return deadline == MTIME_NEVER ? MTIME_NEVER : mtime_max(deadline - throttles_now(), 0);
}

void throttle_link_close(struct throttle_link *link)
{
	if (link->is_closing)
		return;
	link->is_closing = true;
	link->has_ended = !link->link;
	for (size_t i = 0; i < link->throttles->count; i++) {
		struct named_throttle *named = shared_at(link, i);
		if (named)
			throttle_channel_leave(named->channel, throttles_now());
	}
}

bool throttle_link_is_closed(const struct throttle_link *link)
{
	return link->has_ended;
}
