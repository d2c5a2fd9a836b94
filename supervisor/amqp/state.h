/* What the files of this layer share about a connection and its channels. Layer: amqp, private to
 * it. Who owns what: the connection owns its buffers, its codec pool and its channels; a content's
 * memory is the handler's, held here until the content is told or dropped. */
#ifndef AMQP_STATE_H
#define AMQP_STATE_H

#include "amqp/connection.h"
#include "amqp/content.h"
#include "amqp/frame.h"

enum connection_state {
	CONNECTION_GREETED, /* our protocol header is out; start is awaited */
	CONNECTION_LOGIN,   /* start-ok is out; tune, or a close, is awaited */
	CONNECTION_OPENING, /* tune-ok and open are out; open-ok is awaited */
	CONNECTION_OPEN,
	CONNECTION_CLOSING, /* our close is out; all but its answer is discarded */
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

struct channel {
	uint16_t number;
	enum channel_state state;
	uint32_t awaited[AWAITED_COUNT]; /* asked and not answered */
	bool consumes, publishes;        /* basic.consume, a mandatory publish was sent on it */
	bool is_confirming;
	uint64_t published; /* since confirm.select: the highest tag the peer may confirm */
	struct content content;
};

/* A word the peer said of itself, cut to what fits. */
struct peer_word {
	char bytes[64];
	size_t len;
};

struct connection {
	const struct connection_params *params;   /* borrowed from the owner */
	const struct connection_handler *handler; /* borrowed from the owner */
	void *ctx;
	enum connection_state state;
	enum rc end;     /* what input answers once the state is ENDED */
	bool has_failed; /* a command could not be written; output.failed says the same of room */
	uint32_t method; /* the peer's, being handled; 0: none */
	struct buf output;
	struct buf partial; /* the last frame's beginning, until the rest of it comes */
	amqp_pool_t pool;   /* what the codec decodes into, recycled after every method */
	uint16_t heartbeat_s, channel_max;
	uint32_t frame_max;
	struct channel **channels; /* owned; by number; NULL: never opened */
	size_t channel_slots;
	struct peer_word product, version;
};

/* Tells the owner. */
static inline void connection_tell(struct connection *c, const struct amqp_event *event)
{
	c->handler->on_event(c->ctx, event);
}

/* The peer's mistake, or our want of memory: drops what is half received, appends connection.close,
 * tells AMQP_CLOSED. The words after code are for people and cut to 255 bytes. */
void connection_fail(struct connection *, enum rc end, uint16_t code, const char *format, ...)
	PRINTF_LIKE(4, 5);
/* The end without a close of ours. */
void connection_end(struct connection *, enum rc end);
/* len bytes of output in one piece, which count at once; NULL when they are refused, and for good
 * from then on: what comes after a gap would be read as something else. */
uint8_t *connection_room(struct connection *, size_t len);
/* Gives up every content that is half received. */
void connection_drop_contents(struct connection *);

/* NULL: that number was never opened here. */
static inline struct channel *connection_channel(const struct connection *c, uint16_t number)
{
	return number < c->channel_slots ? c->channels[number] : NULL;
}

#endif
