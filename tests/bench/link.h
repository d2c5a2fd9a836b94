/* A blocking connection to the broker for the programs of the bench, with the usual API of
 * rabbitmq-c. An error ends the program with one line on stderr. One channel, number 1. */
#ifndef BENCH_LINK_H
#define BENCH_LINK_H

#include <amqp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define LINK_CHANNEL 1

/* Set by SIGTERM and SIGINT, after link_stop_on_signals. */
extern volatile sig_atomic_t link_is_stopping;
void link_stop_on_signals(void);

_Noreturn void link_fail(const char *what, const char *detail);
/* A request must have succeeded. */
void link_must(amqp_rpc_reply_t reply, const char *what);
/* A send must succeed. */
void link_must_send(int status, const char *what);

amqp_connection_state_t link_open(const char *url);
void link_close(amqp_connection_state_t);

/* Declare a durable queue of this type: "quorum" or "classic"; is_single: with a single active
 * consumer. */
void link_declare_tasks(
	amqp_connection_state_t, const char *queue, const char *type, bool is_single);
/* Declare a transient, exclusive queue for replies, and consume it without acks. */
void link_consume_replies(amqp_connection_state_t, const char *queue);
/* With acks, and at most prefetch messages unacked. */
void link_consume(amqp_connection_state_t, const char *queue, uint16_t prefetch);
/* Wait for the next message; the caller destroys the envelope. False: none came in wait_ms. */
bool link_next(amqp_connection_state_t, int wait_ms, amqp_envelope_t *ret_envelope);

/* Wait for one confirm, which must be an ack. Return the highest tag that it confirms. */
uint64_t link_await_confirm(amqp_connection_state_t);
/* Switch the channel to confirm mode. */
void link_select_confirms(amqp_connection_state_t);

/* Read a number from the command line. Below min: end the program with status 64. */
long link_number(const char *text, const char *what, long min);

#endif
