/* A delivery's or a return's content, put together from its frames. Layer: amqp, private to it.
 * One per channel. The memory is asked once, for properties and body in one piece; it is the
 * handler's, and goes back to it if the content is never told. */
#ifndef AMQP_CONTENT_H
#define AMQP_CONTENT_H

#include "amqp/connection.h"

struct channel;

/* The longest arguments of basic.deliver: three short strings, a tag, a bit. */
#define CONTENT_ARGUMENTS_MAX (3 * 256 + 8 + 1)

enum content_stage { CONTENT_NONE, CONTENT_WANTS_HEADER, CONTENT_WANTS_BODY };

struct content {
	enum content_stage stage;
	struct amqp_event event; /* to be told; its texts point into arguments */
	char arguments[CONTENT_ARGUMENTS_MAX];
	uint8_t *memory; /* borrowed from the handler while the stage is WANTS_BODY */
	size_t properties_len;
	size_t filled, total; /* of memory */
};

/* The arguments of basic.deliver and basic.return: the method that begins a content. */
void content_begin_delivery(struct connection *, struct channel *, struct text arguments);
void content_begin_return(struct connection *, struct channel *, struct text arguments);
/* The payload of a header frame, of a body frame, in whatever stage. */
void content_take_header(struct connection *, struct channel *, struct text payload);
void content_take_body(struct connection *, struct channel *, struct text payload);
/* Forgets a content that is half received. */
void content_drop(struct connection *, struct channel *);

#endif
