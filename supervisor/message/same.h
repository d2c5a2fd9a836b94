/* Whether a redelivery is the message that was delivered before. Layer: message, implements
 * effects.is_same (core/effects.h). */
#ifndef MESSAGE_SAME_H
#define MESSAGE_SAME_H

#include "core/tasks/delivery.h"

/* True: body, route, properties and headers are equal, apart from x-delivery-count and
 * x-acquired-count. The order of headers does not count, because a broker that adds a count sorts
 * them. */
bool message_is_same(const struct delivery *, const struct delivery *);

#endif
