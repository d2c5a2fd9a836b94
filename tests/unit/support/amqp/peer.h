/* A broker's bytes for unit tests, from rabbitmq-c's encoder, so that the encoder is not ours. */
#ifndef UNIT_PEER_H
#define UNIT_PEER_H

#include "amqp/frame.h"
#include "base/buf.h"

amqp_bytes_t peer_bytes(struct text text);
amqp_bytes_t peer_string(const char *string);
void peer_frame(struct buf *out, uint8_t type, uint16_t channel, struct text payload);
void peer_method(struct buf *out, uint16_t channel, uint32_t id, void *fields);
void peer_header(struct buf *out, uint16_t channel, uint64_t body_len, struct text properties);
void peer_body(struct buf *out, uint16_t channel, struct text bytes);
void peer_start(struct buf *out, const char *mechanisms);
void peer_tune(struct buf *out, uint16_t channel_max, uint32_t frame_max, uint16_t heartbeat);
void peer_open_ok(struct buf *out);
void peer_channel_open_ok(struct buf *out, uint16_t channel);
void peer_deliver(struct buf *out, uint16_t channel, uint64_t tag);

#endif
