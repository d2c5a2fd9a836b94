/* Frames of an AMQP connection on the broker's side: bytes to frames, methods to bytes. rabbitmq-c
 * encodes and decodes, so that our own frame code is tested against another one. */
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

/* Take one whole frame off in; its payload is valid until the next append. False: it is
 * incomplete. */
bool peer_take_frame(struct buf *in, struct peer_frame *ret);
/* Decode the method in a frame; it is in the memory of pool. A failure ends the run. */
void *peer_decode(const struct peer_frame *, amqp_pool_t *pool, amqp_method_number_t *ret_id);

void peer_send_method(struct buf *out, uint16_t channel, amqp_method_number_t id, void *method);
/* Header and body frames of a content. */
void peer_send_content(struct buf *out, uint16_t channel, struct text properties, struct text body);
void peer_send_frame(struct buf *out, uint8_t type, uint16_t channel, struct text payload);

/* Append a field to an array, without its key. */
void peer_put_element(struct buf *array, const struct table_field *);

amqp_bytes_t peer_bytes(struct text);
struct text peer_text(amqp_bytes_t);

#endif
