/* RabbitMQ for the tests: one node shared by all of a run (given by the runner in $WPOOL_TEST_NODE,
 * else started here), and nodes of their own for tests that hurt theirs. tests/broker/node does the
 * work. Fails the test rather than returning an error. */
#ifndef HARNESS_BROKER_H
#define HARNESS_BROKER_H

struct broker;

/* An unchecked fixture: finds or starts the node in the process that check forks its tests from. */
void broker_share(void);
void broker_unshare(void);
struct broker *broker_shared(void);

/* A node in folder (made when missing), which ends with the calling process at the latest. */
struct broker *broker_start(const char *folder);
/* One that somebody else started there. */
struct broker *broker_at(const char *folder);
/* Stops one that broker_start made. NULL is legal. */
void broker_free(struct broker *);

const char *broker_url(const struct broker *);     /* amqp://guest:guest@127.0.0.1:PORT/%2f */
const char *broker_tls_url(const struct broker *); /* amqps://guest:guest@localhost:PORT/%2f */
int broker_port(const struct broker *);
int broker_tls_port(const struct broker *);
/* A file of its TLS folder (ca.pem, client.pem, client-key.pem, other-ca.pem): owned by the
 * caller. */
char *broker_tls_file(const struct broker *, const char *name);

/* Runs a script of tests/broker, which must succeed; what it printed is owned by the caller. */
char *broker_run(const char *const argv[]);
/* A verb of tests/broker/node: "restart", "kill", "pause", "resume", "stop". */
void broker_command(struct broker *, const char *verb);
/* An Erlang expression in the node; its printed value is owned by the caller. Takes milliseconds.
 * One that fails fails the test: versions differ in their functions. */
char *broker_eval(struct broker *, const char *expression);
/* All messages of a queue: ready, unacknowledged, and held for dead-lettering; -1: no such queue.
 */
long broker_messages(struct broker *, const char *queue);
/* Asks until there are that many, or fails at the deadline. */
void broker_expect_messages(struct broker *, const char *queue, long count);
/* A classic queue on "suspend" takes nothing and confirms nothing, until "resume". */
void broker_tell_queue(struct broker *, const char *queue, const char *verb);
/* RabbitMQ 3.10 keeps for half a second in memory only where the log of a new quorum queue lies:
 * killed in that time, it has a queue without a leader for ever. That is its own fault, and from
 * here on all is written. */
void broker_write_all(struct broker *);
/* Cuts every client's connection from the broker's side. */
void broker_close_connections(struct broker *);
/* The node's log so far: owned by the caller. */
char *broker_log(const struct broker *);

#endif
