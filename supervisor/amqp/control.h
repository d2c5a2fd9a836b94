/* Channel 0: login, tuning, close, alarms, as a table of (state, method). Layer: amqp, private to
 * it. (AMQP 0-9-1 specification, 2.2.4 and the class connection.) */
#ifndef AMQP_CONTROL_H
#define AMQP_CONTROL_H

#include "amqp/method.h"

/* The payload of a method frame on channel 0. */
void control_take_method(struct connection *, struct text payload);

#endif
