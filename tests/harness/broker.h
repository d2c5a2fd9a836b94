/* RabbitMQ for the tests: one node shared by a whole run (from the runner in $WPOOL_TEST_NODE,
 * else started here), and private nodes for tests that damage theirs. tests/broker/node does the
 * work. Errors fail the test. */
#ifndef HARNESS_BROKER_H
#define HARNESS_BROKER_H

#include <stdbool.h>

struct broker;

/* An unchecked fixture: find or start the node, in the process that check forks its tests from. */
void broker_share(void);
void broker_unshare(void);
struct broker *broker_shared(void);

/* Start a node in folder (created if missing); it ends with the calling process at the latest. */
struct broker *broker_start(const char *folder);
/* Open a node that is already running in folder. */
struct broker *broker_at(const char *folder);
/* Stop a node that broker_start made. NULL is allowed. */
void broker_free(struct broker *);

const char *broker_url(const struct broker *);     /* amqp://guest:guest@127.0.0.1:PORT/%2f */
const char *broker_tls_url(const struct broker *); /* amqps://guest:guest@localhost:PORT/%2f */
int broker_port(const struct broker *);
int broker_tls_port(const struct broker *);
/* A file of its TLS folder (ca.pem, client.pem, client-key.pem, other-ca.pem): owned by the
 * caller. */
char *broker_tls_file(const struct broker *, const char *name);

/* Run a script of tests/broker, which must succeed; its output moves out. */
char *broker_run(const char *const argv[]);
/* A verb of tests/broker/node: "restart", "kill", "pause", "resume", "stop". */
void broker_command(struct broker *, const char *verb);
/* Evaluate an Erlang expression in the node; its printed value moves out. Takes milliseconds. A
 * failing expression fails the test, since versions differ in their functions. */
char *broker_eval(struct broker *, const char *expression);
/* The broker waits for an ack for so long, and looks for late ones often; from the next channel on.
 */
void broker_set_ack_timeout(struct broker *, long timeout_ms);
/* All messages of a queue: ready, unacknowledged, and held for dead-lettering; -1: no such queue.
 */
long broker_messages(struct broker *, const char *queue);
/* Count the messages of these queues (NULL-terminated), one after the other. False if there are
 * none and all were counted within limit_ms. */
bool broker_has_messages(struct broker *, const char *const queues[], int limit_ms);
/* Poll until there are so many, or fail at the deadline. */
void broker_expect_messages(struct broker *, const char *queue, long count);
/* Suspend or resume the process of a classic queue: suspended, it takes nothing and confirms
 * nothing. */
void broker_control_queue(struct broker *, const char *queue, const char *verb);
/* For half a second RabbitMQ 3.10 keeps the place of a new quorum queue's log only in memory; a
 * node killed in that time has a queue without a leader for good. After this call it is on disk. */
void broker_write_all(struct broker *);
/* Close every client's connection from the broker's side. */
void broker_close_connections(struct broker *);
/* The node's log so far; moves out. */
char *broker_log(const struct broker *);

#endif
