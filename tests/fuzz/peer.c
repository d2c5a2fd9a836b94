#include "fuzz/peer.h"

#include "amqp/frame.h"
#include "fuzz/fuzz.h"
#include "fuzz/memory.h"
#include <stdlib.h>

#define GREETING_SIZE  8
#define SAID_MAX       (1u << 20)
#define FRAME_SIZE_MAX (1u << 20)

void peer_init(struct peer *peer, struct connection *connection, struct feed *feed)
{
	*peer = (struct peer){.connection = connection, .feed = feed, .slice = SIZE_MAX};
}

void peer_put_short(struct buf *out, struct text t)
{
	size_t len = t.len < 255 ? t.len : 255;
	buf_append_byte(out, (uint8_t)len);
	buf_append(out, t.ptr, len);
}

void peer_put_long(struct buf *out, struct text t)
{
	buf_append_be32(out, (uint32_t)t.len);
	buf_append_text(out, t);
}

/* ---------- saying ---------- */

static void hand_over(struct peer *peer, struct text piece)
{
	bool was_over = peer->rc != RC_OK;
	enum rc before = peer->rc;
	memory_pause();
	char *block = malloc(piece.len);
	FUZZ_REQUIRE(block);
	memcpy(block, piece.ptr, piece.len);
	memory_resume();
	peer->rc = connection_input(peer->connection, text_of(block, piece.len));
	FUZZ_REQUIRE(!was_over || peer->rc == before);
	FUZZ_REQUIRE(!connection_is_open(peer->connection) || peer->rc == RC_OK);
	memory_pause();
	free(block);
	memory_resume();
}

void peer_say(struct peer *peer, struct text bytes)
{
	while (bytes.len > 0 && peer->connection) {
		size_t len = bytes.len < peer->slice ? bytes.len : peer->slice;
		hand_over(peer, text_of(bytes.ptr, len));
		bytes = text_of(bytes.ptr + len, bytes.len - len);
	}
}

static void say_frame(struct peer *peer, uint8_t type, uint16_t channel, struct text payload)
{
	struct buf out;
	memory_pause();
	buf_init(&out, SAID_MAX);
	buf_append_byte(&out, type);
	buf_append_be16(&out, channel);
	peer_put_long(&out, payload);
	buf_append_byte(&out, AMQP_FRAME_END);
	memory_resume();
	peer_say(peer, buf_text(&out));
	memory_pause();
	buf_release(&out);
	memory_resume();
}

void peer_say_method(struct peer *peer, uint16_t channel, uint32_t id, struct text arguments)
{
	struct buf out;
	memory_pause();
	buf_init(&out, SAID_MAX);
	buf_append_be32(&out, id);
	buf_append_text(&out, arguments);
	memory_resume();
	say_frame(peer, AMQP_FRAME_METHOD, channel, buf_text(&out));
	memory_pause();
	buf_release(&out);
	memory_resume();
}

/* ---------- hostile methods ---------- */

/* What a client may be sent, and some that it may not; arguments as in amqp/method_internal.h. */
static const struct {
	uint32_t id;
	const char *layout;
} methods[] = {
	{AMQP_CONNECTION_START_METHOD, "ooFSS"},
	{AMQP_CONNECTION_SECURE_METHOD, "S"},
	{AMQP_CONNECTION_TUNE_METHOD, "hih"},
	{AMQP_CONNECTION_OPEN_OK_METHOD, "s"},
	{AMQP_CONNECTION_CLOSE_METHOD, "hshh"},
	{AMQP_CONNECTION_CLOSE_OK_METHOD, ""},
	{AMQP_CONNECTION_BLOCKED_METHOD, "s"},
	{AMQP_CONNECTION_UNBLOCKED_METHOD, ""},
	{AMQP_CHANNEL_OPEN_OK_METHOD, "S"},
	{AMQP_CHANNEL_FLOW_METHOD, "o"},
	{AMQP_CHANNEL_CLOSE_METHOD, "hshh"},
	{AMQP_CHANNEL_CLOSE_OK_METHOD, ""},
	{AMQP_EXCHANGE_DECLARE_OK_METHOD, ""},
	{AMQP_QUEUE_DECLARE_OK_METHOD, "sii"},
	{AMQP_QUEUE_BIND_OK_METHOD, ""},
	{AMQP_BASIC_QOS_OK_METHOD, ""},
	{AMQP_BASIC_CONSUME_OK_METHOD, "s"},
	{AMQP_BASIC_CANCEL_METHOD, "so"},
	{AMQP_BASIC_CANCEL_OK_METHOD, "s"},
	{AMQP_BASIC_RETURN_METHOD, "hsss"},
	{AMQP_BASIC_DELIVER_METHOD, "sloss"},
	{AMQP_BASIC_ACK_METHOD, "lo"},
	{AMQP_BASIC_NACK_METHOD, "lo"},
	{AMQP_CONFIRM_SELECT_OK_METHOD, ""},
	{AMQP_BASIC_GET_OK_METHOD, "lossi"},
	{AMQP_QUEUE_DECLARE_METHOD, "hssooooF"},
};

/* Mostly a small one, so that it is a tag that we know. */
static uint64_t take_tag(struct feed *feed)
{
	uint8_t first = feed_byte(feed);
	return first < 0xf0 ? first : feed_number(feed, 8);
}

static void put_argument(struct buf *out, struct feed *feed, char type)
{
	switch (type) {
	case 'o':
		buf_append_byte(out, feed_byte(feed));
		break;
	case 'h':
		buf_append_be16(out, (uint16_t)feed_number(feed, 2));
		break;
	case 'i':
		buf_append_be32(out, (uint32_t)feed_number(feed, 4));
		break;
	case 'l':
		buf_append_be64(out, take_tag(feed));
		break;
	case 's':
		peer_put_short(out, feed_text(feed, feed_byte(feed) % 64));
		break;
	default:
		peer_put_long(out, feed_short(feed));
	}
}

static void put_arguments(struct buf *out, struct feed *feed, const char *layout)
{
	memory_pause();
	buf_init(out, SAID_MAX);
	for (; *layout; layout++)
		put_argument(out, feed, *layout);
	memory_resume();
}

static void drop(struct buf *out)
{
	memory_pause();
	buf_release(out);
	memory_resume();
}

static void act_method(struct peer *peer)
{
	size_t which = feed_byte(peer->feed) % (sizeof methods / sizeof *methods);
	uint16_t channel = feed_byte(peer->feed) % PEER_CHANNELS;
	struct buf arguments;
	put_arguments(&arguments, peer->feed, methods[which].layout);
	peer_say_method(peer, channel, methods[which].id, buf_text(&arguments));
	drop(&arguments);
}

/* ---------- contents ---------- */

static void say_header(
	struct peer *peer, uint16_t channel, uint64_t body_len, struct text properties)
{
	struct buf out;
	memory_pause();
	buf_init(&out, SAID_MAX);
	buf_append_be32(&out, 60u << 16);
	buf_append_be64(&out, body_len);
	buf_append_text(&out, properties);
	memory_resume();
	say_frame(peer, AMQP_FRAME_HEADER, channel, buf_text(&out));
	drop(&out);
}

/* One that is in order but for what is in it; a return where the script says so. */
static void act_content(struct peer *peer)
{
	struct feed *feed = peer->feed;
	uint16_t channel = feed_byte(feed) % PEER_CHANNELS;
	bool is_return = feed_byte(feed) % 4 == 0;
	struct buf arguments;
	put_arguments(&arguments, feed, is_return ? "hsss" : "sloss");
	peer_say_method(peer, channel,
		is_return ? AMQP_BASIC_RETURN_METHOD : AMQP_BASIC_DELIVER_METHOD,
		buf_text(&arguments));
	drop(&arguments);
	struct text properties = feed_short(feed), body = feed_short(feed);
	say_header(peer, channel, body.len, properties.len >= 2 ? properties : TEXT("\0\0"));
	size_t first = body.len > 0 ? feed_byte(feed) % body.len : 0;
	if (first > 0)
		say_frame(peer, AMQP_FRAME_BODY, channel, text_of(body.ptr, first));
	if (body.len > first)
		say_frame(peer, AMQP_FRAME_BODY, channel,
			text_of(body.ptr + first, body.len - first));
}

static void act_header(struct peer *peer)
{
	uint16_t channel = feed_byte(peer->feed) % PEER_CHANNELS;
	uint64_t body_len = take_tag(peer->feed);
	say_header(peer, channel, body_len, feed_short(peer->feed));
}

static void act_frame(struct peer *peer)
{
	uint8_t type = feed_byte(peer->feed);
	uint16_t channel = feed_byte(peer->feed) % (PEER_CHANNELS + 1);
	say_frame(peer, type < 0xe0 ? type % 4 + 1 : type, channel, feed_short(peer->feed));
}

void peer_act(struct peer *peer)
{
	switch (feed_byte(peer->feed) % 8) {
	case 0:
		peer_say(peer, feed_short(peer->feed));
		break;
	case 1:
		act_frame(peer);
		break;
	case 2:
	case 3:
		act_method(peer);
		break;
	case 4:
		act_content(peer);
		break;
	case 5:
		act_header(peer);
		break;
	case 6:
		peer->slice = feed_byte(peer->feed) % 64 + (size_t)1;
		break;
	default:
		peer_read(peer, true);
	}
}

/* ---------- answers ---------- */

void peer_handshake(struct peer *peer)
{
	peer_say_method(peer, 0, AMQP_CONNECTION_START_METHOD,
		TEXT("\0\11\0\0\0\25\7productS\0\0\0\010RabbitMQ\0\0\0\5PLAIN\0\0\0\5en_US"));
	peer_say_method(peer, 0, AMQP_CONNECTION_TUNE_METHOD, TEXT("\7\377\0\0\20\0\0\5"));
	peer_say_method(peer, 0, AMQP_CONNECTION_OPEN_OK_METHOD, TEXT("\0"));
}

static void say_short(struct peer *peer, uint16_t channel, uint32_t id, struct text word)
{
	struct buf out;
	memory_pause();
	buf_init(&out, SAID_MAX);
	peer_put_short(&out, word);
	if (id == AMQP_QUEUE_DECLARE_OK_METHOD)
		buf_append_be64(&out, 0);
	memory_resume();
	peer_say_method(peer, channel, id, buf_text(&out));
	drop(&out);
}

static void answer_good(struct peer *peer, uint16_t channel, uint32_t id, struct cursor arguments)
{
	switch (id) {
	case AMQP_CHANNEL_OPEN_METHOD:
		peer_say_method(peer, channel, AMQP_CHANNEL_OPEN_OK_METHOD, TEXT("\0\0\0\0"));
		break;
	case AMQP_BASIC_CONSUME_METHOD:
		cursor_take16(&arguments);
		cursor_take_short(&arguments);
		say_short(
			peer, channel, AMQP_BASIC_CONSUME_OK_METHOD, cursor_take_short(&arguments));
		break;
	case AMQP_BASIC_CANCEL_METHOD:
		say_short(
			peer, channel, AMQP_BASIC_CANCEL_OK_METHOD, cursor_take_short(&arguments));
		break;
	case AMQP_QUEUE_DECLARE_METHOD:
		cursor_take16(&arguments);
		say_short(
			peer, channel, AMQP_QUEUE_DECLARE_OK_METHOD, cursor_take_short(&arguments));
		break;
	case AMQP_CHANNEL_CLOSE_METHOD:
	case AMQP_CONNECTION_CLOSE_METHOD:
	case AMQP_BASIC_QOS_METHOD:
	case AMQP_CONFIRM_SELECT_METHOD:
	case AMQP_QUEUE_BIND_METHOD:
	case AMQP_EXCHANGE_DECLARE_METHOD:
		peer_say_method(peer, channel, id + 1, TEXT_NONE);
		break;
	}
}

static void answer(struct peer *peer, const struct frame *frame)
{
	uint32_t id = octets_get32(frame->payload.ptr);
	struct cursor arguments =
		cursor_of(text_of(frame->payload.ptr + 4, frame->payload.len - 4));
	uint8_t mood = feed_byte(peer->feed);
	if (id == AMQP_BASIC_PUBLISH_METHOD || id == AMQP_BASIC_ACK_METHOD)
		return;
	if (mood < 0xe0)
		answer_good(peer, frame->channel, id, arguments);
	else if (mood < 0xf0)
		peer_say_method(peer, frame->channel, AMQP_CHANNEL_CLOSE_METHOD,
			mood % 2 ? TEXT("\1\x94\0\0\0\0\0") : TEXT("\1\x96\0\0\0\0\0"));
}

static void read_frames(struct peer *peer, struct text bytes, bool answers)
{
	struct frame frame;
	uint32_t max = connection_frame_max(peer->connection);
	if (!peer->has_greeted) {
		FUZZ_REQUIRE(text_starts(bytes, TEXT("AMQP\0\0\x9\1")));
		bytes = text_of(bytes.ptr + GREETING_SIZE, bytes.len - GREETING_SIZE);
		peer->has_greeted = true;
	}
	while (bytes.len > 0) {
		FUZZ_REQUIRE(frame_look(bytes, FRAME_SIZE_MAX, &frame) == FRAME_WHOLE);
		FUZZ_REQUIRE(frame.size <= max);
		if (answers && frame.type == AMQP_FRAME_METHOD)
			answer(peer, &frame);
		bytes = text_of(bytes.ptr + frame.size, bytes.len - frame.size);
	}
}

/* What is said in answer makes output of its own: that waits for the next time. */
void peer_read(struct peer *peer, bool answers)
{
	struct buf *output = peer->connection ? connection_output(peer->connection) : NULL;
	if (!output || buf_len(output) == 0 || connection_has_failed(peer->connection))
		return;
	size_t len = buf_len(output);
	memory_pause();
	char *copy = malloc(len);
	FUZZ_REQUIRE(copy);
	memcpy(copy, buf_text(output).ptr, len);
	memory_resume();
	buf_consume(output, len);
	read_frames(peer, text_of(copy, len), answers);
	memory_pause();
	free(copy);
	memory_resume();
}
