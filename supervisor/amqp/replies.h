/* What the peer says on a channel: answers, deliveries, confirms, closes, as a table of (state,
 * method). Layer: amqp, private to it. */
#ifndef AMQP_REPLIES_H
#define AMQP_REPLIES_H

#include "amqp/method.h"

/* The payload of a method frame on a channel that is not closed. */
void replies_take_method(struct connection *, struct channel *, struct text payload);

#endif
