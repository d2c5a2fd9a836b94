/* Several supervisors that share a throttle, each with a configuration file and a control socket of
 * its own. Errors fail the test. */
#ifndef HARNESS_PEERS_H
#define HARNESS_PEERS_H

#include "harness/proc.h"

#include <jansson.h>

struct peer {
	struct proc *proc;              /* NULL: it does not run */
	bool is_stopped;                /* by SIGSTOP: it answers nothing */
	const char *file, *socket;      /* valid until the test ends */
	const char *const *environment; /* borrowed; further variables, or NULL */
};

/* Paths for the peer with this number. */
struct peer peer_make(int number);
/* Write its file. broker: settings of that section, such as "url: amqp://..., heartbeat: 1s";
 * lists: "pools:" and "throttles:". */
void peer_configure(const struct peer *, const char *broker, const char *lists);
/* Start it, and wait until it answers. */
void peer_start(struct peer *);
/* Send SIGSTOP or SIGCONT. */
void peer_signal(struct peer *, int signal);
/* Send a signal that ends it; it must exit with this code. */
void peer_end(struct peer *, int signal, int code);

/* What /v1/throttles has of it; moves out. */
json_t *peer_throttle(const struct peer *, const char *name);
/* A number of that; -1: null. */
json_int_t peer_figure(const struct peer *, const char *name, const char *member);
void peer_await_figure(const struct peer *, const char *name, const char *member, json_int_t value);

/* The number of the one that leads the throttle, and is not `but` (-1: any): wait until one of
 * those that run does. */
int peers_await_leader(const struct peer peers[], int count, const char *name, int but);

#endif
