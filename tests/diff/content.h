/* Deliveries and returns: their frames become events, and the client records unacked deliveries. */
#ifndef DIFF_CONTENT_H
#define DIFF_CONTENT_H

#include "diff/client.h"

void content_begin_delivery(struct client_channel *, const amqp_basic_deliver_t *);
void content_begin_return(struct client_channel *, const amqp_basic_return_t *);
/* Handle a header or body frame; the last one of a content makes an event. */
void content_take(struct client *, const struct peer_frame *);
/* The queue of a consumer, whose name has its number: k3. False: it is another name. */
bool content_queue_of(struct text consumer, uint8_t *ret_queue);

#endif
