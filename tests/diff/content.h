/* Deliveries and returns, put together from their frames, and what a client remembers of them. */
#ifndef DIFF_CONTENT_H
#define DIFF_CONTENT_H

#include "diff/client.h"

void content_begin_delivery(struct client_channel *, const amqp_basic_deliver_t *);
void content_begin_return(struct client_channel *, const amqp_basic_return_t *);
/* A header or body frame; the last one makes an event. */
void content_take(struct client *, const struct peer_frame *);
/* Consumers are named after their queue's number: k3. False: another's. */
bool content_queue_of(struct text consumer, uint8_t *ret_queue);

#endif
