/* The inside of a connection, for the files of this folder. Layer: amqp. These files are in layers:
 * input.c calls control.c, replies.c and content.c; these call method.c; all of them call
 * connection.c, which calls none of them. The connection owns its buffers, its codec pool and its
 * channels; a content's memory belongs to the handler and is borrowed until it is complete or
 * dropped. */
#ifndef AMQP_CONNECTION_INTERNAL_H
#define AMQP_CONNECTION_INTERNAL_H

#include "amqp/connection.h"
#include "amqp/frame.h"

#define METHOD_ID_SIZE       4
#define PROTOCOL_HEADER      "AMQP\x00\x00\x09\x01"
#define PROTOCOL_HEADER_SIZE 8

enum connection_state {
	CONNECTION_GREETED, /* our protocol header is sent; start is expected */
	CONNECTION_LOGIN,   /* start-ok is sent; tune or close is expected */
	CONNECTION_OPENING, /* tune-ok and open are sent; open-ok is expected */
	CONNECTION_OPEN,
	CONNECTION_CLOSING, /* our close is sent; everything but its answer is dropped */
	CONNECTION_ENDED
};

enum channel_state { CHANNEL_CLOSED, CHANNEL_OPENING, CHANNEL_OPEN, CHANNEL_CLOSING };

/* A state as a bit, for the sets in the tables of methods. */
#define IN(state) (1u << (state))

/* Requests that the peer answers with a method of their own. */
enum awaited {
	AWAITED_QOS,
	AWAITED_CONSUME,
	AWAITED_CANCEL,
	AWAITED_CONFIRM_SELECT,
	AWAITED_QUEUE,
	AWAITED_BIND,
	AWAITED_EXCHANGE,
	AWAITED_COUNT
};

/* The longest arguments of basic.deliver: three short strings, a tag, a bit. */
#define CONTENT_ARGUMENTS_MAX (3 * 256 + 8 + 1)

enum content_stage { CONTENT_NONE, CONTENT_WANTS_HEADER, CONTENT_WANTS_BODY };

struct content {
	enum content_stage stage;
	struct amqp_event event; /* its texts point into arguments */
	char arguments[CONTENT_ARGUMENTS_MAX];
	uint8_t *memory; /* borrowed from the handler while the stage is WANTS_BODY */
	size_t properties_len;
	size_t filled, total; /* of memory */
};

struct channel {
	uint16_t number;
	enum channel_state state;
	uint32_t awaited[AWAITED_COUNT]; /* requests without an answer */
	bool consumes, publishes;        /* basic.consume, a mandatory publish was sent on it */
	bool is_confirming;
	uint64_t published; /* since confirm.select: the highest tag the peer may confirm */
	struct content content;
};

/* A property of the peer, cut to what fits. */
struct peer_property {
	char bytes[64];
	size_t len;
};

struct connection {
	const struct connection_params *params;   /* borrowed from the owner */
	const struct connection_handler *handler; /* borrowed from the owner */
	void *ctx;
	enum connection_state state;
	enum rc end;     /* what connection_input returns in the state ENDED */
	bool has_failed; /* a command could not be encoded; output.failed: not appended */
	uint32_t method; /* the peer's, being handled; 0: none */
	struct buf output;
	uint64_t appended;     /* bytes, to output since the beginning */
	uint64_t counted_from; /* of these bytes: where the count of answers began */
	unsigned counted;      /* answers after that byte */
	struct buf partial;    /* the beginning of an incomplete frame */
	amqp_pool_t pool;      /* the codec's memory, reused after every method */
	uint16_t heartbeat_s, channel_max;
	uint32_t frame_max;
	struct channel **channels; /* owned; by number; NULL: never opened */
	size_t channel_slots;
	struct peer_property product, version;
};

/* Emit an event to the owner. */
static inline void connection_emit(struct connection *c, const struct amqp_event *event)
{
	c->handler->on_event(c->ctx, event);
}

/* The peer's mistake, or out of memory: drop contents that are half received, append
 * connection.close, and emit AMQP_CLOSED. The text after code is for people, cut to 255 bytes. */
void connection_fail(struct connection *, enum rc end, uint16_t code, const char *format, ...)
	PRINTF_LIKE(4, 5);
/* End the connection without sending a close. */
void connection_end(struct connection *, enum rc end);
/* Reserve len contiguous bytes of output, which the caller fills. NULL: it failed. Then all later
 * calls fail, because the peer would misread what follows a gap. */
uint8_t *connection_reserve(struct connection *, size_t len);
/* Drop every content that is half received. */
void connection_drop_contents(struct connection *);

/* Append a method frame; fields is rabbitmq-c's struct for it. The connection fails if the method
 * does not fit into the smallest frame of AMQP (4096 bytes). */
void method_send(struct connection *, uint16_t channel, uint32_t id, void *fields);

/* Append the answer to a request of the peer, such as channel.flow. False: AMQP_ANSWERS_MAX of them
 * are unsent, and the connection has failed. */
bool method_answer(struct connection *, uint16_t channel, uint32_t id, void *fields);

static inline struct text method_text(amqp_bytes_t bytes)
{
	return text_of(bytes.bytes, bytes.len);
}

static inline amqp_bytes_t method_bytes(struct text text)
{
	return (amqp_bytes_t){text.len, (void *)(uintptr_t)text.ptr};
}

/* NULL: that number was never opened here. */
static inline struct channel *connection_channel(const struct connection *c, uint16_t number)
{
	return number < c->channel_slots ? c->channels[number] : NULL;
}

/* Begin a content with the arguments of basic.deliver or basic.return, whichever is c->method. */
void content_begin(struct connection *, struct channel *, struct text arguments);
/* Handle the payload of a header frame, or of a body frame, in any stage. */
void content_take_header(struct connection *, struct channel *, struct text payload);
void content_take_body(struct connection *, struct channel *, struct text payload);
/* Drop a content that is half received. */
void content_drop(struct connection *, struct channel *);
/* Handle the payload of a method frame on channel 0: login, tuning, close, alarms (AMQP 0-9-1,
 * 2.2.4 and the class connection). */
void control_take_method(struct connection *, struct text payload);
/* Handle the payload of a method frame on a channel that is not closed. */
void replies_take_method(struct connection *, struct channel *, struct text payload);

#endif
