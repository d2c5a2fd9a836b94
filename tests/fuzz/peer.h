/* A hostile broker at the other end of a real connection: says what a script tells it to, from
 * bytes that are no frame at all to answers that are in order, cut into pieces of any size; and
 * reads what we say, which must be whole frames within what was agreed on, whatever came in before.
 */
#ifndef FUZZ_PEER_H
#define FUZZ_PEER_H

#include "amqp/channel.h"
#include "fuzz/feed.h"

struct peer {
	struct connection *connection; /* borrowed; the owner's at_end may free it, then NULL */
	struct feed *feed;             /* borrowed: the script */
	size_t slice;                  /* most bytes that are handed over at once */
	bool has_greeted;              /* our protocol header was read */
	enum rc rc;                    /* what connection_input said last */
};

#define PEER_CHANNELS 4 /* channels that a script knows, 0 among them */

void peer_init(struct peer *, struct connection *, struct feed *);
/* The next thing that the script tells it to do. */
void peer_act(struct peer *);
/* start, tune and open-ok, in order. */
void peer_handshake(struct peer *);
/* Reads all that we said. With answers: says to each request what the script wants, mostly what a
 * broker would. */
void peer_read(struct peer *, bool answers);
/* Bytes, cut into pieces that lie in blocks of exactly their size. */
void peer_say(struct peer *, struct text);
void peer_say_method(struct peer *, uint16_t channel, uint32_t id, struct text arguments);

/* Writers of method arguments. */
void peer_put_short(struct buf *, struct text);
void peer_put_long(struct buf *, struct text);

#endif
