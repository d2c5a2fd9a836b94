/* A hostile broker at the other end of a real connection. It sends what a script defines, from
 * random bytes to correct answers, in pieces of any size. It checks that we send whole frames of at
 * most frame_max, whatever we received before. */
#ifndef FUZZ_PEER_H
#define FUZZ_PEER_H

#include "amqp/channel.h"
#include "fuzz/feed.h"

struct peer {
	struct connection *connection; /* borrowed; the owner's at_end may free it, then NULL */
	struct feed *feed;             /* borrowed: the script */
	size_t slice;                  /* the maximum of bytes that are passed at once */
	bool has_greeted;              /* our protocol header was read */
	enum rc rc;                    /* the last result of connection_input */
};

#define PEER_CHANNELS 4 /* the channels of a script, with 0 */

void peer_init(struct peer *, struct connection *, struct feed *);
/* Do the next action of the script. */
void peer_act(struct peer *);
/* Send start, tune and open-ok, in order. */
void peer_handshake(struct peer *);
/* Read all that we sent. answers: answer each request as the script defines, mostly as a broker
 * would. */
void peer_read(struct peer *, bool answers);
/* Send bytes in pieces, each in a block of exactly its size. */
void peer_say(struct peer *, struct text);
void peer_say_method(struct peer *, uint16_t channel, uint32_t id, struct text arguments);

/* Writers of method arguments. */
void peer_put_short(struct buf *, struct text);
void peer_put_long(struct buf *, struct text);

#endif
