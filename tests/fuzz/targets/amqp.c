/* A hostile broker against one connection, with commands between its words and from within our own
 * callbacks: handshake, channels in every state, contents, closes that cross. Every content is told
 * or dropped once; what we say stays whole frames within frame_max.
 * Memory: besides the multiple, a content's body is taken as soon as its header announces it, one
 * for each open channel, of at most body_limit bytes (serve: max_body and a little). */
#include "fuzz/fuzz.h"
#include "fuzz/memory.h"
#include "fuzz/peer.h"
#include <stdlib.h>

#define BODY_LIMIT   4096
#define OUTPUT_LIMIT (64u * 1024)

const struct fuzz_memory fuzz_memory = {.base = 16 * 1024, .multiple = 64};

struct play {
	struct connection *connection;
	struct feed feed;
	unsigned given, told, dropped;
	bool is_closed; /* AMQP_CLOSED or AMQP_CLOSE_OK was told */
};

static uint16_t take_channel(struct feed *feed)
{
	return feed_byte(feed) % PEER_CHANNELS;
}

static void publish(struct play *play, uint16_t channel)
{
	struct text exchange = feed_short(&play->feed), body = feed_short(&play->feed);
	channel_publish(play->connection, channel,
		&(struct amqp_publish){.exchange = exchange,
			.routing_key = TEXT("key"),
			.mandatory = true,
			.properties = TEXT("\0\0"),
			.body = body});
}

static void declare(struct play *play, uint16_t channel)
{
	struct amqp_argument argument = {.key = "x-expires", .number = 1000};
	channel_declare_queue(play->connection, channel,
		&(struct amqp_queue){.name = feed_short(&play->feed),
			.durable = true,
			.arguments = &argument,
			.argument_count = 1});
}

static void settle(struct play *play, uint16_t channel)
{
	struct connection *c = play->connection;
	uint64_t tag = feed_byte(&play->feed) + UINT64_C(1);
	switch (feed_byte(&play->feed) % 4) {
	case 0:
		channel_ack(c, channel, tag, true);
		break;
	case 1:
		channel_ack(c, channel, tag, false);
		break;
	case 2:
		channel_nack(c, channel, tag);
		break;
	default:
		channel_reject(c, channel, tag);
	}
}

static void command(struct play *play)
{
	struct connection *c = play->connection;
	uint8_t which = feed_byte(&play->feed) % 16;
	uint16_t channel = take_channel(&play->feed);
	switch (which) {
	case 0:
	case 1:
	case 2:
		channel_open(c, channel);
		break;
	case 3:
		channel_close(c, channel);
		break;
	case 4:
		channel_qos(c, channel, 10);
		break;
	case 5:
		channel_consume(c, channel, TEXT("queue"), TEXT("tag"), false);
		break;
	case 6:
		channel_cancel(c, channel, TEXT("tag"));
		break;
	case 7:
		channel_confirm_select(c, channel);
		break;
	case 8:
		publish(play, channel);
		break;
	case 9:
		declare(play, channel);
		break;
	case 10:
		channel_declare_exchange(c, channel, TEXT("e"), TEXT("fanout"), false, true);
		break;
	case 11:
		channel_bind_queue(c, channel, TEXT("q"), TEXT("e"), feed_short(&play->feed));
		break;
	case 12:
		settle(play, channel);
		break;
	case 13:
		connection_heartbeat_send(c);
		break;
	case 14:
		connection_close(c, 200, "over");
		break;
	default:
		break;
	}
}

static void on_event(void *ctx, const struct amqp_event *event)
{
	struct play *play = ctx;
	bool has_content = event->kind == AMQP_DELIVERY || event->kind == AMQP_RETURN;
	FUZZ_REQUIRE(!play->is_closed);
	play->is_closed = event->kind == AMQP_CLOSED || event->kind == AMQP_CLOSE_OK;
	if (has_content) {
		volatile uint8_t sum = 0;
		for (size_t i = 0; i < event->content.body.len; i++)
			sum = sum ^ (uint8_t)event->content.body.ptr[i];
		play->told++;
		free(event->content.owner);
	}
	if (feed_byte(&play->feed) % 2)
		command(play);
}

static uint8_t *content_memory(
	void *ctx, uint16_t channel, bool is_return, size_t len, void **ret_owner)
{
	struct play *play = ctx;
	(void)channel, (void)is_return;
	FUZZ_REQUIRE(len <= BODY_LIMIT + connection_frame_max(play->connection) + 65536u);
	play->given++;
	*ret_owner = malloc(len);
	FUZZ_REQUIRE(*ret_owner);
	return *ret_owner;
}

static void content_dropped(void *ctx, void *owner)
{
	struct play *play = ctx;
	play->dropped++;
	free(owner);
}

static const struct connection_handler handler = {on_event, content_memory, content_dropped};

void fuzz_one(struct text input)
{
	struct play play = {.feed = {input}};
	uint8_t how = feed_byte(&play.feed);
	struct connection_params params = {how & 1 ? SASL_EXTERNAL : SASL_PLAIN, "user", "secret",
		"/", "fuzz", 5, 8192, OUTPUT_LIMIT, BODY_LIMIT};
	struct peer peer;
	play.connection = connection_new(&params, &handler, &play);
	FUZZ_REQUIRE(play.connection);
	peer_init(&peer, play.connection, &play.feed);
	if (how & 2)
		peer_handshake(&peer);
	if (how & 4)
		peer_say(&peer, feed_text(&play.feed, play.feed.rest.len));
	while (!feed_is_over(&play.feed)) {
		if (feed_byte(&play.feed) % 3)
			peer_act(&peer);
		else
			command(&play);
	}
	peer_read(&peer, false);
	FUZZ_REQUIRE((peer.rc != RC_OK) == play.is_closed);
	connection_free(play.connection);
	FUZZ_REQUIRE(play.given == play.told + play.dropped);
}
