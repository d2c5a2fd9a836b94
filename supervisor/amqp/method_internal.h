/* The peer's methods: checked, decoded and dispatched by a table. Layer: amqp, private to it.
 * rabbitmq-c's table decoder recurses as deep as the peer's tables, so the arguments are first
 * checked on the raw bytes. */
#ifndef AMQP_METHOD_INTERNAL_H
#define AMQP_METHOD_INTERNAL_H

#include "amqp/connection_internal.h"

/* A method of the peer. layout: one letter an argument: o octet (or up to eight bits), h 16 bits,
 * i 32 bits, s short string, S long string, F table. */
struct method_row {
	uint32_t id;
	unsigned states;    /* of the connection (channel 0) or of the channel: a set of IN() */
	const char *layout; /* for take; NULL: take_raw decodes the bytes itself */
	void (*take)(struct connection *, struct channel *, const void *fields);
	void (*take_raw)(struct connection *, struct channel *, struct text arguments);
};

struct method_table {
	const struct method_row *rows;
	size_t count;
};

/* Handle a method frame's payload on a channel (NULL: channel 0) that is in this state. */
void method_take(struct connection *, struct channel *, const struct method_table *, unsigned state,
	struct text payload);

static inline uint32_t method_id(struct text payload)
{
	return payload.len >= METHOD_ID_SIZE ? octets_get32(payload.ptr) : 0;
}

#endif
