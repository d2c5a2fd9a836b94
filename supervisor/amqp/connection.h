/* One AMQP 0-9-1 connection without I/O: bytes in, events out; commands in, bytes out. Layer: amqp.
 * rabbitmq-c is the codec of methods; frame boundaries, channel states and every check of what the
 * peer sends are ours. Never blocks, never reads a clock, never ends the process: a peer's mistake
 * ends the connection with the reply code that the AMQP 0-9-1 specification gives it.
 * The owner moves bytes between a socket and connection_input / connection_output. */
#ifndef AMQP_CONNECTION_H
#define AMQP_CONNECTION_H

#include "amqp/reply_code.h"
#include "base/buf.h"
#include "base/mtime.h"

#define AMQP_CHANNEL_LIMIT 2047 /* channels 1 to this, if the peer's channel-max allows */
/* The connection ends if the peer asks for more answers (flow-ok, cancel-ok, close-ok) while as
 * many are unsent. An honest peer closes each channel once, and cancels each consumer once. */
#define AMQP_ANSWERS_MAX 4096

enum sasl { SASL_PLAIN, SASL_EXTERNAL };

struct connection_params {
	enum sasl sasl;
	const char *user, *password; /* borrowed until connection_free; PLAIN only; 2046 bytes */
	const char *vhost, *name;    /* likewise; the broker's tools show the name */
	uint16_t heartbeat_s; /* what we request; 0: none. The smaller of ours and the peer's counts
			       */
	uint32_t frame_max;   /* what we request; at least 4096 */
	size_t output_limit;  /* the connection fails if more bytes than this are unsent */
	uint64_t body_limit;  /* a content body larger than this ends the connection */
};

#define AMQP_EVENT_KINDS(X)                                                                        \
	X(AMQP_OPENED)   /* connection.open-ok: channels may be opened */                          \
	X(AMQP_CLOSED)   /* closed by the peer, or by us for its mistake: code, text */            \
	X(AMQP_CLOSE_OK) /* our connection_close is answered */                                    \
	X(AMQP_BLOCKED)  /* text: the reason of the alarm */                                       \
	X(AMQP_UNBLOCKED)                                                                          \
	X(AMQP_CHANNEL_OPENED)                                                                     \
	X(AMQP_CHANNEL_CLOSED)   /* by the peer: code, text; the number may be used again */       \
	X(AMQP_CHANNEL_CLOSE_OK) /* our channel_close is answered */                               \
	X(AMQP_QOS_OK)                                                                             \
	X(AMQP_CONSUME_OK)     /* consumer */                                                      \
	X(AMQP_CANCEL_OK)      /* consumer */                                                      \
	X(AMQP_CANCELLED)      /* by the broker: consumer */                                       \
	X(AMQP_QUEUE_DECLARED) /* queue, messages, consumers */                                    \
	X(AMQP_EXCHANGE_DECLARED)                                                                  \
	X(AMQP_QUEUE_BOUND)                                                                        \
	X(AMQP_CONFIRM_SELECTED)                                                                   \
	X(AMQP_CONFIRM)  /* tag, multiple, positive */                                             \
	X(AMQP_DELIVERY) /* consumer, tag, redelivered, exchange, routing_key, content */          \
	X(AMQP_RETURN)   /* code, text, exchange, routing_key, content */

enum amqp_event_kind {
#define X(kind) kind,
	AMQP_EVENT_KINDS(X)
#undef X
};

/* A complete content: header and body. The memory is the handler's (content_memory); it has the raw
 * property bytes, the flags word first, and then the body. */
struct amqp_content {
	void *owner; /* from content_memory */
	struct text properties;
	struct text body;
};

/* Texts are borrowed until the callback returns. Fields that a kind does not name are zero. */
struct amqp_event {
	enum amqp_event_kind kind;
	uint16_t channel;
	uint16_t code;
	struct text text;     /* reply text, reason of the alarm */
	struct text consumer; /* consumer tag */
	struct text exchange;
	struct text routing_key;
	struct text queue;
	uint64_t tag; /* of the delivery or the confirm */
	uint32_t messages, consumers;
	bool multiple, positive, redelivered;
	struct amqp_content content;
};

struct connection_handler {
	/* May call any channel_* command and connection_close; never connection_input or _free. */
	void (*on_event)(void *ctx, const struct amqp_event *);
	/* Allocate len bytes for a content's properties and body; *ret_owner becomes
	 * amqp_content.owner. is_return: a returned message, else a delivery. NULL: out of memory,
	 * which ends the connection with code 506. The handler owns the memory from the content's
	 * event on; if there is no such event, content_dropped returns it. */
	uint8_t *(*content_memory)(
		void *ctx, uint16_t channel, bool is_return, size_t len, void **ret_owner);
	void (*content_dropped)(void *ctx, void *owner);
};

/* Such memory that free() frees. */
uint8_t *connection_content_memory(size_t len, void **ret_owner);

struct connection;

/* Make a connection, with the protocol header in its output. params and handler are borrowed until
 * connection_free. NULL: out of memory. */
struct connection *connection_new(
	const struct connection_params *, const struct connection_handler *, void *ctx);
void connection_free(struct connection *);

/* Handle bytes from the peer, any number, cut anywhere. Any result but RC_OK comes after
 * AMQP_CLOSED or AMQP_CLOSE_OK: RC_MALFORMED (the peer's mistake; a connection.close is in the
 * output), RC_CLOSED (closed by the peer, a close-ok is in the output; or our close is
 * answered), RC_MEMORY, RC_LIMIT. Then send the output and close the socket; more input returns
 * the same code. */
enum rc connection_input(struct connection *, struct text bytes) MUST_CHECK;
/* Bytes for the peer. The owner consumes what it has sent. */
struct buf *connection_output(struct connection *);
/* True: something could not be appended (memory, output_limit, too long); the connection must be
 * closed. */
bool connection_has_failed(const struct connection *);
bool connection_is_open(const struct connection *);

/* Negotiated, valid after AMQP_OPENED: seconds (0: none), bytes, channels. */
uint16_t connection_heartbeat(const struct connection *);
uint32_t connection_frame_max(const struct connection *);
uint16_t connection_channel_max(const struct connection *);
/* The peer's product and version ("RabbitMQ", "3.10.8"); empty if it sent none. Valid until
 * connection_free. */
struct text connection_peer_product(const struct connection *);
struct text connection_peer_version(const struct connection *);

void connection_heartbeat_send(struct connection *);
/* Send connection.close; AMQP_CLOSE_OK follows. Nothing may be sent after it. */
void connection_close(struct connection *, uint16_t code, const char *text);

#endif
