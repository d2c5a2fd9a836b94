/* Our answers in the handshake: who we are, what we can, which limits hold. Layer: amqp, private to
 * it. Each sends its answer and returns true, or has made the connection fail. */
#ifndef AMQP_LOGIN_H
#define AMQP_LOGIN_H

#include "amqp/method.h"

/* start -> start-ok, with the SASL mechanism of the params. 403 when the peer does not offer it. */
bool login_answer_start(struct connection *, const amqp_connection_start_t *);
/* tune -> tune-ok, then open. The smaller of both sides' limits holds, 0 being none. */
bool login_answer_tune(struct connection *, const amqp_connection_tune_t *);

#endif
