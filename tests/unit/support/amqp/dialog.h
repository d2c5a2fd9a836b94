/* A connection under test: started or open, fed in pieces, its output read back. Everything that it
 * tells is written down as lines. Contents' memory is malloc'ed and counted, so that a leak, a
 * double drop or a lost content shows. */
#ifndef UNIT_DIALOG_H
#define UNIT_DIALOG_H

#include "amqp/channel.h"
#include "unit/support/amqp/peer.h"

struct dialog {
	struct connection_params params;
	struct connection_handler handler;
	struct connection *connection;
	struct buf in;      /* what the peer says next: the test fills it */
	amqp_pool_t fields; /* of decoded methods */
	struct buf told;
	struct buf sent; /* the payload of the frame that dialog_sent took last */
	unsigned given, dropped, delivered;
	bool refuses_memory;
	uint16_t last_code;
	void (*on_event)(
		struct dialog *, const struct amqp_event *); /* what the test adds; may be NULL */
};

void dialog_init(struct dialog *dialog);
/* Up to here no connection is there; params may be changed. */
void dialog_start(struct dialog *dialog);
/* Frees, and finds every content's memory told or dropped, once. */
void dialog_release(struct dialog *dialog);
/* Feeds everything in pieces of step bytes, each in memory of its own so that a read past its end
 * is seen by the sanitizer. */
enum rc dialog_feed(struct dialog *dialog, struct text bytes, size_t step);
/* All of in at once; empties it. */
enum rc dialog_feed_in(struct dialog *dialog);
/* The handshake, and channels 1 and 2 open, each with a consumer and a publish; the output so far
 * is forgotten. */
void dialog_open(struct dialog *dialog);
void dialog_told(const struct dialog *dialog, const char *expected);
/* Takes the next frame off the output; its payload is good until the next one is taken. */
struct frame dialog_sent(struct dialog *dialog);
/* ... which must be this method; its fields by rabbitmq-c's decoder, as long good. */
void *dialog_sent_method(struct dialog *dialog, uint16_t channel, uint32_t id);

#endif
