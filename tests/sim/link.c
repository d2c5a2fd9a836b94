#include "sim/link.h"

#include "sim/cover.h"
#include "sim/fail.h"
#include "sim/tokens.h"

#include <stdlib.h>

#define CLOSING_LIMIT MTIME_SECOND

static void on_opened(struct client_link *link)
{
	struct supervisor *supervisor = link->supervisor;
	mtime now = link->world->now;

	link->up = true;
	if (link->runtime) {
		consumer_up(link->runtime->consumer, link->connection);
		tokens_up(link->runtime, link->connection);
		return;
	}
	EACH_POOL(supervisor, runtime)
	{
		publisher_up(runtime->publisher, link->connection, runtime->channel, now);
		tokens_publish_up(runtime, link->connection);
	}
}

/* On a connection that publishes. */
static struct pool_runtime *runtime_of(const struct client_link *link, uint16_t channel)
{
	struct pool_runtime *runtime = &link->supervisor->pools[channel - 1];

	sim_require(channel >= 1 && channel <= link->supervisor->pool_count &&
			    runtime->presence != POOL_ABSENT,
		"a channel of nobody");
	return runtime;
}

static void on_consume_event(struct pool_runtime *runtime, const struct amqp_event *event)
{
	mtime now = runtime->world->now;

	if (runtime->token.channel && tokens_is_channel(event->channel))
		tokens_on_event(runtime, event, now);
	else
		consumer_on_event(runtime->consumer, event, now);
}

static void on_publish_event(struct client_link *link, const struct amqp_event *event)
{
	struct pool_runtime *runtime = tokens_publisher(link->supervisor, event->channel);
	mtime now = link->world->now;

	if (runtime)
		token_channel_on_publish_event(runtime->token.channel, event, now);
	else
		publisher_on_event(runtime_of(link, event->channel)->publisher, event, now);
}

static void on_event(void *ctx, const struct amqp_event *event)
{
	struct client_link *link = ctx;

	cover_mark(COVER_AMQP, event->kind, link_publishes(link));
	if (event->kind == AMQP_CHANNEL_CLOSED &&
		memmem(event->text.ptr, event->text.len, "timed out", 9))
		cover_mark(COVER_TROUBLE, TROUBLE_TIMEOUT, 0);
	if (event->code && event->kind != AMQP_RETURN)
		cover_code(event->code, event->channel > 0);
	if (event->kind == AMQP_OPENED)
		on_opened(link);
	else if (event->kind == AMQP_CLOSED)
		link->close_code = event->code; /* the return of connection_input tells the rest */
	else if (event->channel == 0)
		return;
	else if (link->runtime)
		on_consume_event(link->runtime, event);
	else
		on_publish_event(link, event);
}

static uint8_t *content_memory(
	void *ctx, uint16_t channel, bool is_return, size_t len, void **ret_owner)
{
	struct client_link *link = ctx;

	(void)channel;
	(void)is_return;
	if (link->runtime)
		return consumer_content_memory(link->runtime->consumer, len, ret_owner);
	return connection_content_memory(len, ret_owner);
}

static void content_dropped(void *ctx, void *owner)
{
	struct client_link *link = ctx;

	if (link->runtime)
		delivery_free(owner);
	else
		free(owner);
}

static const struct connection_handler handler = {
	.on_event = on_event,
	.content_memory = content_memory,
	.content_dropped = content_dropped,
};

void link_init(
	struct client_link *link, struct supervisor *supervisor, struct pool_runtime *runtime)
{
	*link = (struct client_link){.world = supervisor->world,
		.supervisor = supervisor,
		.runtime = runtime,
		.retry_at = supervisor->world->now};
}

void link_on_deadline(struct client_link *link)
{
	struct world *world = link->world;

	if (link->connection) {
		cover_mark(COVER_WIRE, WIRE_UNANSWERED, link_publishes(link));
		link_cut(link, false);
		return;
	}
	link->connection = connection_new(&world->params, &handler, link);
	sim_require(link->connection, "out of memory");
	link->peer = broker_accept(world->broker);
	link->retry_at = MTIME_NEVER;
	world->moved = true;
}

static void mark_cut(const struct client_link *link)
{
	bool inward = buf_len(broker_output(link->peer)) > 0;
	bool outward = broker_unread(link->peer) > 0;

	if (link->supervisor->state == SUPERVISOR_LEAVES)
		return;
	if (!link->up)
		cover_mark(COVER_WIRE, WIRE_CUT_HANDSHAKE, link_publishes(link));
	if (inward)
		cover_mark(COVER_WIRE, WIRE_CUT_INWARD, link_publishes(link));
	if (outward)
		cover_mark(COVER_WIRE, WIRE_CUT_OUTWARD, link_publishes(link));
	if (!inward && !outward)
		cover_mark(COVER_WIRE, WIRE_CUT_BETWEEN, link_publishes(link));
}

static void report_down(struct client_link *link, bool by_error)
{
	struct supervisor *supervisor = link->supervisor;
	mtime now = link->world->now;
	enum outbox_loss loss;
	size_t publishing = 0;

	if (link->runtime) {
		consumer_down(link->runtime->consumer, now);
		tokens_down(link->runtime);
		return;
	}
	EACH_POOL(supervisor, runtime)
	{
		publishing += publisher_is_publishing(runtime->publisher);
	}
	loss = publisher_loss(by_error, publishing);
	EACH_POOL(supervisor, runtime)
	{
		publisher_down(runtime->publisher, loss, now);
		tokens_publish_down(runtime);
	}
}

static bool is_of_one_that_closes(const struct client_link *link)
{
	return link->runtime && link->runtime->presence == POOL_CLOSES;
}

void link_cut(struct client_link *link, bool by_error)
{
	struct world *world = link->world;

	if (!link->connection)
		return;
	sim_trace("supervisor %u: its %s connection is gone", link->supervisor->number,
		link_publishes(link) ? "publish" : "consume");
	mark_cut(link);
	broker_cut(link->peer);
	link->peer = NULL;
	link->is_dark = false;
	if (link->up)
		report_down(link, by_error);
	connection_free(link->connection);
	link->connection = NULL;
	link->up = false;
	link->close_code = 0;
	link->retry_at = MTIME_NEVER;
	if (link->supervisor->state != SUPERVISOR_LEAVES && !is_of_one_that_closes(link))
		link->retry_at = world->now + (mtime)random_below(&world->random, 3000) * MTIME_MS;
	world->moved = true;
}

void link_darken(struct client_link *link)
{
	struct world *world = link->world;
	mtime heartbeats = 2 * world->params.heartbeat_s * MTIME_SECOND;

	if (!link->up || link->is_dark)
		return;
	sim_trace("supervisor %u: its %s connection leads nowhere", link->supervisor->number,
		link_publishes(link) ? "publish" : "consume");
	broker_cut(link->peer);
	link->peer = broker_accept(world->broker);
	link->is_dark = true;
	link->retry_at =
		world->now +
		(mtime)random_below(&world->random, (uint32_t)(heartbeats / MTIME_MS)) * MTIME_MS;
}

/* How much of len moves now: in a calm world all, else any part of it. */
static size_t choose_part(struct world *world, size_t len)
{
	if (!world_wants(world, TROUBLE_PARTS, 500))
		return len;
	return random_below(&world->random, (uint32_t)len + 1);
}

static void move_to_broker(struct client_link *link)
{
	struct buf *out = connection_output(link->connection);
	size_t len;

	sim_require(!connection_has_failed(link->connection), "the output limit was reached");
	if (buf_len(out) == 0 || (len = choose_part(link->world, buf_len(out))) == 0)
		return;
	broker_input(link->peer, text_of(out->bytes + out->head, len));
	buf_consume(out, len);
	link->world->moved = true;
	if (link_publishes(link) && broker_is_alarmed(link->world->broker) &&
		broker_unread(link->peer) > 0)
		cover_mark(COVER_WIRE, WIRE_UNREAD, link_publishes(link));
}

static void move_to_client(struct client_link *link)
{
	struct buf *out = broker_output(link->peer);
	size_t len;
	enum rc rc;

	if (buf_len(out) == 0 || (len = choose_part(link->world, buf_len(out))) == 0)
		return;
	rc = connection_input(link->connection, text_of(out->bytes + out->head, len));
	buf_consume(out, len);
	link->world->moved = true;
	sim_require(rc == RC_OK || rc == RC_CLOSED, "our side finds the broker's bytes %s",
		rc_text(rc));
	if (rc == RC_CLOSED)
		link_cut(link, link->close_code && link->close_code != CODE_CONNECTION_FORCED);
}

void link_move(struct client_link *link)
{
	if (link->is_dark)
		return;
	if (link->connection)
		move_to_broker(link);
	if (link->connection)
		move_to_client(link);
}

bool link_is_still(const struct client_link *link)
{
	return !link->connection || (buf_len(connection_output(link->connection)) == 0 &&
					    buf_len(broker_output(link->peer)) == 0);
}

void link_close(struct client_link *link)
{
	link->retry_at = MTIME_NEVER;
	if (!link->up || link->is_dark) {
		link_cut(link, false);
		return;
	}
	connection_close(link->connection, 200, "goodbye");
	cover_mark(COVER_WIRE, WIRE_GOODBYE, link_publishes(link));
	link->retry_at = link->world->now + CLOSING_LIMIT;
}

void link_release(struct client_link *link)
{
	link_cut(link, false);
}
