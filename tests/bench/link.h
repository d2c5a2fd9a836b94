/* A blocking connection to the broker for the programs of the bench, by rabbitmq-c's usual API.
 * What goes wrong ends the program with one line on stderr. One channel, number 1. */
#ifndef BENCH_LINK_H
#define BENCH_LINK_H

#include <amqp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define LINK_CHANNEL 1

/* Set by SIGTERM and SIGINT, after link_stop_on_signals. */
extern volatile sig_atomic_t link_is_told_to_stop;
void link_stop_on_signals(void);

_Noreturn void link_fail(const char *what, const char *detail);
/* The answer to a request must be its normal one. */
void link_must(amqp_rpc_reply_t reply, const char *what);
/* A send must succeed. */
void link_must_send(int status, const char *what);

amqp_connection_state_t link_open(const char *url);
void link_close(amqp_connection_state_t);

/* Durable and quorum, as every queue of tasks here. */
void link_declare_tasks(amqp_connection_state_t, const char *queue, const char *type);
/* Classic, transient, of this connection alone, and consumed without acks: for replies. */
void link_consume_replies(amqp_connection_state_t, const char *queue);
/* With acks, and at most so many unacked. */
void link_consume(amqp_connection_state_t, const char *queue, uint16_t prefetch);
/* The next message, or false after so many milliseconds without one. The envelope is the caller's
 * to destroy. */
bool link_next(amqp_connection_state_t, int wait_ms, amqp_envelope_t *ret_envelope);

/* Waits for one confirm, which must be an ack; the highest tag that it confirms. */
uint64_t link_await_confirm(amqp_connection_state_t);
/* Turns confirms on. */
void link_select_confirms(amqp_connection_state_t);

/* A number from the command line, not below least, or the program ends with 64. */
long link_number(const char *text, const char *what, long least);

#endif
