/* The broker's side of an AMQP connection's framing: bytes into frames, methods into bytes. For
 * tests; rabbitmq-c is the codec on this side too, so that our own frame code has another to agree
 * with. */
#ifndef SIM_PEER_H
#define SIM_PEER_H

#include "amqp/table.h"
#include "base/buf.h"

#include <amqp.h>
#include <amqp_framing.h>

#define PEER_FRAME_MAX 131072

struct peer_frame {
	uint8_t type; /* AMQP_FRAME_METHOD, _HEADER, _BODY, _HEARTBEAT */
	uint16_t channel;
	struct text payload;
};

/* Takes one whole frame off in; its payload is good until the next append. False: not there yet. */
bool peer_take_frame(struct buf *in, struct peer_frame *ret);
/* The method in a frame; decoded lives in pool. NULL: not decodable, which fails the run. */
void *peer_decode(const struct peer_frame *, amqp_pool_t *pool, amqp_method_number_t *ret_id);

void peer_send_method(struct buf *out, uint16_t channel, amqp_method_number_t id, void *method);
/* Header and body frames of a content. */
void peer_send_content(struct buf *out, uint16_t channel, struct text properties, struct text body);
void peer_send_frame(struct buf *out, uint8_t type, uint16_t channel, struct text payload);

/* A field as a member of an array: without its key. */
void peer_put_element(struct buf *array, const struct table_field *);

amqp_bytes_t peer_bytes(struct text);
struct text peer_text(amqp_bytes_t);

#endif
