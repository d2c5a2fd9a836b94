/* A content from the broker becomes a delivery, in the one block of memory it lives in. Layer:
 * broker. */
#ifndef BROKER_INTAKE_H
#define BROKER_INTAKE_H

#include "amqp/connection.h"
#include "core/delivery.h"

/* Room for a content of len bytes, and for its route if that is kept. *ret_owner is the struct
 * delivery, to be freed by delivery_free if the content is dropped. NULL: out of memory. */
uint8_t *intake_memory(size_t len, bool keep_route, void **ret_owner);
/* An AMQP_DELIVERY whose content intake_memory gave, with the same keep_route. body_limit: bytes; a
 * larger body makes it unfit. The delivery moves out to the caller. */
struct delivery *intake_take(const struct amqp_event *, bool keep_route, uint64_t body_limit);

#endif
