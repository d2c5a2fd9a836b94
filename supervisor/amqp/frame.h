/* AMQP frames on raw bytes: where one ends, and how one is written. Layer: amqp, private to it.
 * Boundaries are found here and not by rabbitmq-c, whose decoder hides an incomplete frame. (AMQP
 * 0-9-1 specification, 2.3.5 and 4.2.3.) */
#ifndef AMQP_FRAME_H
#define AMQP_FRAME_H

#include "amqp/cursor.h"
#include <amqp.h>
#include <amqp_framing.h>

#define FRAME_HEAD     7 /* type, channel, size */
#define FRAME_OVERHEAD 8 /* and the end octet */
/* A header frame near frame_max grows past it when the broker counts a redelivery in it. */
#define FRAME_HEADER_SLACK 65536

struct frame {
	uint8_t type; /* AMQP_FRAME_METHOD, _HEADER, _BODY, _HEARTBEAT */
	uint16_t channel;
	struct text payload; /* borrowed from the bytes */
	size_t size;         /* whole: in bytes, with the overhead; partial: the minimum so far */
	const char *fault;   /* bad: what is wrong with it (always 501, frame error) */
};

enum frame_look { FRAME_PARTIAL, FRAME_WHOLE, FRAME_BAD };

/* Find the first frame in bytes. Type and size are checked as soon as they are there, so that a bad
 * frame is not waited for. frame_max includes the overhead. */
enum frame_look frame_look(struct text bytes, uint32_t frame_max, struct frame *ret_frame);

/* Write a frame's head; return where its payload goes. */
static inline uint8_t *frame_begin(uint8_t *at, uint8_t type, uint16_t channel, size_t payload_len)
{
	return octets_put32(octets_put16(octets_put8(at, type), channel), (uint32_t)payload_len);
}

/* Write a frame's end; return where the next one goes. */
static inline uint8_t *frame_end(uint8_t *at)
{
	return octets_put8(at, AMQP_FRAME_END);
}

#endif
