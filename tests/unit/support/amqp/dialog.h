/* A connection under test: started or open, fed in pieces, its output read back. Each event is
 * recorded as a line. The memory of contents is malloc'ed and counted, so that a leak, a double
 * drop or a lost content is found. */
#ifndef UNIT_DIALOG_H
#define UNIT_DIALOG_H

#include "amqp/channel.h"
#include "unit/support/amqp/peer.h"

struct dialog {
	struct connection_params params;
	struct connection_handler handler;
	struct connection *connection;
	struct buf in;      /* the peer's next bytes, from the test */
	amqp_pool_t fields; /* of decoded methods */
	struct buf events;  /* a line for each */
	struct buf sent;    /* the payload of the last frame from dialog_sent */
	unsigned allocated, dropped, delivered;
	bool refuses_memory;
	uint16_t last_code;
	void (*on_event)(struct dialog *,
		const struct amqp_event *); /* called for each event; may be NULL */
};

void dialog_init(struct dialog *dialog);
/* Create the connection. Before, the test may change params. */
void dialog_start(struct dialog *dialog);
/* Free all, and check that each content was delivered or dropped, once. */
void dialog_release(struct dialog *dialog);
/* Feed all bytes in pieces of step bytes, each in its own memory, so that the sanitizer sees a read
 * past its end. */
enum rc dialog_feed(struct dialog *dialog, struct text bytes, size_t step);
/* Feed the bytes of `in` in one piece, and clear it. */
enum rc dialog_feed_in(struct dialog *dialog);
/* Do the handshake, and open channels 1 and 2, each with a consumer and a publish. Then clear
 * events and output. */
void dialog_open(struct dialog *dialog);
void dialog_expect_events(const struct dialog *dialog, const char *expected);
/* Take the next frame off the output. Its payload is valid until the next call. */
struct frame dialog_sent(struct dialog *dialog);
/* The same, for a frame that must be this method. Return its fields from rabbitmq-c's decoder. */
void *dialog_sent_method(struct dialog *dialog, uint16_t channel, uint32_t id);

#endif
